# Writes a source file with the texts of the study files: cmake -DOUT=... -DNAMES="a;b" -DDIR=... -P embed.cmake
set(text "// Generated from the study files.\n#include \"master/sim/studies/study.h\"\n\nnamespace mr::sim {\n\n")
string(APPEND text "const std::vector<BuiltInStudy>& BuiltInStudies() {\n  static const std::vector<BuiltInStudy> studies = {\n")
foreach(name ${NAMES})
  file(READ ${DIR}/${name}.toml body)
  string(APPEND text "{\"${name}\", R\"study(${body})study\"},\n")
endforeach()
string(APPEND text "};\n  return studies;\n}\n\n}  // namespace mr::sim\n")
file(WRITE ${OUT} "${text}")
