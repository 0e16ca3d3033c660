#include "worker/task/frames.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <memory>

#include "common/io/files.h"

namespace mr::task {
namespace {

// Longest names that are shown whole; guesses. Files in a worker's cache are named by their digest.
constexpr size_t kFunctionBytes = 160, kFileBytes = 40, kFileShown = 12, kDigestBytes = 64;

// The functions of an ELF file. Every offset in the file is checked, because a user built it.
class FunctionNames {
 public:
  explicit FunctionNames(const std::string& path) {
    auto fd = OpenFile(path, O_RDONLY);
    auto size = FileSize(path);
    if (!fd.ok() || !size.ok() || *size < sizeof(Elf64_Ehdr)) return;
    void* mapped = mmap(nullptr, *size, PROT_READ, MAP_PRIVATE, fd->get(), 0);
    if (mapped == MAP_FAILED) return;
    data_ = static_cast<const char*>(mapped);
    bytes_ = *size;
    Elf64_Ehdr head;
    memcpy(&head, data_, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64) return;
    loads_ = List<Elf64_Phdr>(head.e_phoff, head.e_phnum);
    sections_ = List<Elf64_Shdr>(head.e_shoff, head.e_shnum);
  }
  ~FunctionNames() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), bytes_);
  }
  FunctionNames(const FunctionNames&) = delete;
  FunctionNames& operator=(const FunctionNames&) = delete;

  // Returns the address, as linked, of this byte of the file.
  uint64_t AddressOf(uint64_t offset) const {
    for (const Elf64_Phdr& load : loads_) {
      if (load.p_type == PT_LOAD && offset >= load.p_offset && offset - load.p_offset < load.p_filesz) {
        return offset - load.p_offset + load.p_vaddr;
      }
    }
    return offset;
  }

  // Returns the name of the function at this address, as the linker knows it, and its begin; "" if there is none.
  std::string At(uint64_t address, uint64_t* begin) const {
    for (const uint32_t kind : {uint32_t{SHT_SYMTAB}, uint32_t{SHT_DYNSYM}}) {
      for (const Elf64_Shdr& section : sections_) {
        if (section.sh_type != kind || section.sh_link >= sections_.size()) continue;
        std::string name = AtIn(section, sections_[section.sh_link], address, begin);
        if (!name.empty()) return name;
      }
    }
    return "";
  }

 private:
  template <class T>
  std::vector<T> List(uint64_t offset, uint64_t count) const {
    if (offset > bytes_ || count > (bytes_ - offset) / sizeof(T)) return {};
    std::vector<T> list(count);
    if (count > 0) memcpy(list.data(), data_ + offset, count * sizeof(T));
    return list;
  }

  std::string AtIn(const Elf64_Shdr& symbols, const Elf64_Shdr& names, uint64_t address, uint64_t* begin) const {
    if (names.sh_offset > bytes_ || names.sh_size > bytes_ - names.sh_offset) return "";
    for (const Elf64_Sym& symbol : List<Elf64_Sym>(symbols.sh_offset, symbols.sh_size / sizeof(Elf64_Sym))) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      if (address < symbol.st_value || address - symbol.st_value >= symbol.st_size) continue;
      if (symbol.st_name >= names.sh_size) continue;
      *begin = symbol.st_value;
      const char* text = data_ + names.sh_offset + symbol.st_name;
      return {text, strnlen(text, names.sh_size - symbol.st_name)};
    }
    return "";
  }

  const char* data_ = nullptr;
  uint64_t bytes_ = 0;
  std::vector<Elf64_Phdr> loads_;
  std::vector<Elf64_Shdr> sections_;
};

// Replaces what `from` names by the usual word.
void Shorten(const std::string& from, const std::string& to, std::string* text) {
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size()) {
    text->replace(at, from.size(), to);
  }
}

// Leaves out the arguments of templates that stand `depth` templates deep.
std::string WithoutArguments(const std::string& text, int depth) {
  std::string out;
  int open = 0;
  char before = ' ';
  for (const char c : text) {
    const bool opens = c == '<' && (isalnum(static_cast<unsigned char>(before)) || before == '_');
    const bool closes = c == '>' && open > 0 && before != '-';
    if (closes) --open;
    if (open <= depth) out += c;
    if (opens && open++ == depth) out += "...";
    before = c;
  }
  return out;
}

std::string Readable(const std::string& symbol) {
  int status = 0;
  char* plain = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string text = status == 0 && plain != nullptr ? plain : symbol;
  free(plain);
  Shorten("std::__cxx11::", "std::", &text);
  Shorten("std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string", &text);
  Shorten("std::basic_string_view<char, std::char_traits<char> >", "std::string_view", &text);
  if (text.size() > kFunctionBytes) text = WithoutArguments(text, 1);
  Shorten(", std::allocator<...> >", ">", &text);
  Shorten(", std::less<...>>", ">", &text);
  if (text.size() > kFunctionBytes) text = WithoutArguments(text, 0);
  if (const size_t call = text.find('('); text.size() > kFunctionBytes && call != std::string::npos && call > 0) {
    text = text.substr(0, call) + "(...)";
  }
  if (text.size() > kFunctionBytes) text = text.substr(0, kFunctionBytes) + "...";
  return text;
}

std::string Hex(uint64_t n) {
  char text[20];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(n));
  return text;
}

std::string FileName(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.size() >= kDigestBytes && name.find_first_not_of("0123456789abcdef") >= kDigestBytes) {
    return "operator library " + name.substr(0, kFileShown);
  }
  if (name.size() > kFileBytes) name = name.substr(0, kFileShown) + "...";
  return name;
}

std::string PlaceText(const SourceCall& call) {
  if (call.file.empty() || call.line <= 0) return "";
  // The last two names of the path: enough to find the file, and no builder's home directory.
  size_t from = call.file.rfind('/');
  if (from != std::string::npos && from > 0) from = call.file.rfind('/', from - 1);
  const std::string shown = from == std::string::npos ? call.file : call.file.substr(from + 1);
  return " at " + shown + ":" + std::to_string(call.line);
}

// A call as it is shown.
struct Frame {
  std::string symbol;    // "" if unknown
  std::string readable;  // of it
  std::string text;
  const MappedFile* file = nullptr;
  std::string source;  // its path; "" if unknown
};

// Adds the calls at an address, innermost first. in_call: 1 for a return address, which may lie behind the end of the
// calling function; else 0.
void AddFrames(const MappedFile* file, const FunctionNames* names, uint64_t address, uint64_t in_call,
               const SourceFn& source, std::vector<Frame>* frames) {
  if (file == nullptr) return frames->push_back({"", "", "?? (" + Hex(address) + ")", nullptr});
  std::vector<SourceCall> calls;
  if (source) calls = source(address - in_call);
  for (size_t i = 0; i + 1 < calls.size(); ++i) {
    const std::string readable = Readable(calls[i].function);
    frames->push_back({calls[i].function, readable, readable + PlaceText(calls[i]), file, calls[i].file});
  }
  const uint64_t there = names->AddressOf(address - file->begin + file->offset);
  uint64_t begin = 0;
  const std::string symbol = names->At(there - in_call, &begin);
  const std::string readable = Readable(symbol);
  const std::string function = symbol.empty() ? "??" : readable + "+" + Hex(there - begin);
  const std::string place = calls.empty() ? "" : PlaceText(calls.back());
  frames->push_back({symbol, readable, function + place + " (" + FileName(file->path) + "+" + Hex(there) + ")", file,
                     calls.empty() ? "" : calls.back().file});
}

// Returns whether this is a function of the SDK's adapter, which calls the operator.
bool OfAdapter(const Frame& frame) {
  // Little debug information (-g1) has inlined functions without their classes.
  if (frame.source.ends_with("paceline/adapter.h")) return true;
  return frame.readable.substr(0, frame.readable.find_first_of("<(")).ends_with("mr::sdk::Adapter");
}

// Returns whether the call is one within the C or C++ library.
bool OfSystem(const Frame& frame) {
  if (frame.file == nullptr) return false;
  const std::string name = frame.file->path.substr(frame.file->path.rfind('/') + 1);
  for (const char* library : {"libc.so.", "libstdc++.so.", "libgcc_s.so.", "libm.so.", "libpthread.so."}) {
    if (name.starts_with(library)) return true;
  }
  return false;
}

// Returns the number of calls to leave out at the begin: those inside of a library function that the operator called.
size_t InnerSystemCalls(const std::vector<Frame>& frames) {
  size_t system = 0;
  while (system < frames.size() && OfSystem(frames[system])) ++system;
  return system == frames.size() || system == 0 ? 0 : system - 1;
}

}  // namespace

std::vector<MappedFile> ParseMaps(std::string_view text) {
  std::vector<MappedFile> files;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    unsigned long long begin = 0, stop = 0, offset = 0;
    int path = 0;
    if (sscanf(line.c_str(), "%llx-%llx %*s %llx %*s %*s %n", &begin, &stop, &offset, &path) < 3) continue;
    if (path <= 0 || static_cast<size_t>(path) >= line.size() || line[path] != '/') continue;
    files.push_back({begin, stop, offset, line.substr(path)});
  }
  return files;
}

std::string StackText(const std::vector<MappedFile>& files, const std::vector<uint64_t>& addresses,
                      const std::string& host, const SourceFn& source) {
  std::map<std::string, std::unique_ptr<FunctionNames>> known;
  std::vector<Frame> frames;
  bool outside = false;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const uint64_t address = addresses[i];
    const auto at =
        std::find_if(files.begin(), files.end(), [&](const auto& f) { return address >= f.begin && address < f.end; });
    const MappedFile* const file = at == files.end() ? nullptr : &*at;
    if (outside && file != nullptr && file->path == host) break;
    outside |= file == nullptr || file->path != host;
    const FunctionNames* names = nullptr;
    if (file != nullptr) {
      auto& opened = known[file->path];
      if (opened == nullptr) opened = std::make_unique<FunctionNames>(file->path);
      names = opened.get();
    }
    AddFrames(file, names, address, i == 0 ? 0 : 1, source, &frames);
  }
  const size_t begin = InnerSystemCalls(frames);
  std::string text, last;
  size_t repeated = 0;
  bool shown = false;  // a call that is not the C library's
  const auto end_repeats = [&] {
    if (repeated > 0) text += "  ... " + std::to_string(repeated) + " more of the same function\n";
    repeated = 0;
  };
  for (size_t i = begin; i < frames.size(); ++i) {
    if (shown && OfAdapter(frames[i])) break;
    shown |= !OfSystem(frames[i]);
    if (i > begin + 1 && !frames[i].symbol.empty() && frames[i].symbol == last) {
      ++repeated;
      continue;
    }
    end_repeats();
    last = frames[i].symbol;
    text += "  #" + std::to_string(i) + " " + frames[i].text + "\n";
  }
  end_repeats();
  return text;
}

}  // namespace mr::task
