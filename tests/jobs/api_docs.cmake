# Makes the SDK's API page, and checks that undocumented declarations fail it.
#   cmake -DDOXYGEN=PROGRAM -DDOXYFILE=FILE -DOUT=DIRECTORY -P api_docs.cmake
file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT})
file(READ ${DOXYFILE} settings)

file(WRITE ${OUT}/Doxyfile "${settings}\nOUTPUT_DIRECTORY = ${OUT}\n")
execute_process(COMMAND ${DOXYGEN} ${OUT}/Doxyfile RESULT_VARIABLE result ERROR_VARIABLE warnings)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the API page has warnings:\n${warnings}")
endif()
foreach(page index classmr_1_1Library classmr_1_1TypedStage classmr_1_1JobPlan_1_1Stage classmr_1_1LocalJob)
  if(NOT EXISTS ${OUT}/html/${page}.html)
    message(FATAL_ERROR "the API page has no ${page}.html")
  endif()
endforeach()

file(WRITE ${OUT}/bare.h "// A header.\n\nnamespace mr {\n// A class.\nclass Bare {\n public:\n  void Undocumented();\n};\n}\n")
file(WRITE ${OUT}/Doxyfile "${settings}\nOUTPUT_DIRECTORY = ${OUT}/bare\nINPUT = ${OUT}/bare.h\nUSE_MDFILE_AS_MAINPAGE =\n")
execute_process(COMMAND ${DOXYGEN} ${OUT}/Doxyfile RESULT_VARIABLE result ERROR_VARIABLE warnings)
if(result EQUAL 0 OR NOT warnings MATCHES "Undocumented.*is not documented")
  message(FATAL_ERROR "an undocumented function is no error: ${warnings}")
endif()
