#include "worker/task/debug_info.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>

namespace mr::task {

// libdw is loaded when it is needed: each child would carry its five libraries otherwise, and only crashes use it.
struct DebugInfo::Library {
  Library() {
    void* const handle = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    bool found = true;
    const auto find = [&](const char* name, auto* function) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(handle, name));
      found &= *function != nullptr;
    };
    find("dwfl_begin", &begin);
    find("dwfl_end", &end);
    find("dwfl_linux_proc_maps_report", &report_maps);
    find("dwfl_report_end", &report_end);
    find("dwfl_linux_proc_find_elf", &find_elf);
    find("dwfl_addrmodule", &module_at);
    find("dwfl_module_addrdie", &unit_at);
    find("dwfl_module_getdwarf", &dwarf_of);
    find("dwfl_module_getsrc", &line_at);
    find("dwfl_lineinfo", &line_info);
    find("dwarf_getscopes", &scopes_at);
    find("dwarf_getscopes_die", &scopes_of);
    find("dwarf_dieoffset", &offset_of);
    find("dwarf_offdie", &die_at);
    find("dwarf_diecu", &unit_of);
    find("dwarf_getsrcfiles", &files_of);
    find("dwarf_filesrc", &file_name);
    find("dwarf_tag", &tag);
    find("dwarf_diename", &name);
    find("dwarf_attr", &attribute);
    find("dwarf_attr_integrate", &attribute_integrated);
    find("dwarf_formstring", &text_of);
    find("dwarf_formudata", &number_of);
    usable = found;
  }
  ~Library() {
    if (dwfl != nullptr) end(dwfl);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  std::string FunctionOf(Dwarf_Die* die) const;
  uint64_t NumberOf(Dwarf_Die* die, unsigned what) const;
  void AddCallsOf(Dwarf_Die* innermost, SourceCall at, std::vector<SourceCall>* calls) const;

  bool usable = false;
  Dwfl* dwfl = nullptr;
  Dwfl_Callbacks callbacks{};

  decltype(&::dwfl_begin) begin = nullptr;
  decltype(&::dwfl_end) end = nullptr;
  decltype(&::dwfl_linux_proc_maps_report) report_maps = nullptr;
  decltype(&::dwfl_report_end) report_end = nullptr;
  decltype(&::dwfl_linux_proc_find_elf) find_elf = nullptr;
  decltype(&::dwfl_addrmodule) module_at = nullptr;
  decltype(&::dwfl_module_addrdie) unit_at = nullptr;
  decltype(&::dwfl_module_getdwarf) dwarf_of = nullptr;
  decltype(&::dwfl_module_getsrc) line_at = nullptr;
  decltype(&::dwfl_lineinfo) line_info = nullptr;
  decltype(&::dwarf_getscopes) scopes_at = nullptr;
  decltype(&::dwarf_getscopes_die) scopes_of = nullptr;
  decltype(&::dwarf_dieoffset) offset_of = nullptr;
  decltype(&::dwarf_offdie) die_at = nullptr;
  decltype(&::dwarf_diecu) unit_of = nullptr;
  decltype(&::dwarf_getsrcfiles) files_of = nullptr;
  decltype(&::dwarf_filesrc) file_name = nullptr;
  decltype(&::dwarf_tag) tag = nullptr;
  decltype(&::dwarf_diename) name = nullptr;
  decltype(&::dwarf_attr) attribute = nullptr;
  decltype(&::dwarf_attr_integrate) attribute_integrated = nullptr;
  decltype(&::dwarf_formstring) text_of = nullptr;
  decltype(&::dwarf_formudata) number_of = nullptr;
};

namespace {

// Looks for no separate file: its name would come from a user's file, too.
int NoSeparateFile(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
  return -1;
}

}  // namespace

std::string DebugInfo::Library::FunctionOf(Dwarf_Die* die) const {
  Dwarf_Attribute memory;
  for (const unsigned linkage : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    const char* const text = text_of(attribute_integrated(die, linkage, &memory));
    if (text != nullptr) return text;
  }
  const char* const plain = name(die);
  return plain == nullptr ? "" : plain;
}

uint64_t DebugInfo::Library::NumberOf(Dwarf_Die* die, unsigned what) const {
  Dwarf_Attribute memory;
  Dwarf_Word number = 0;
  return number_of(attribute(die, what, &memory), &number) == 0 ? number : 0;
}

// Walks from the innermost scope outward. `at`: the place in the innermost call. Each inlined call names the place from
// which it was called.
void DebugInfo::Library::AddCallsOf(Dwarf_Die* innermost, SourceCall at, std::vector<SourceCall>* calls) const {
  Dwarf_Die* scopes = nullptr;
  const int count = scopes_of(innermost, &scopes);
  Dwarf_Files* files = nullptr;
  Dwarf_Die unit;
  if (count <= 0) return;
  if (unit_of(&scopes[0], &unit, nullptr, nullptr) == nullptr || files_of(&unit, &files, nullptr) != 0) files = nullptr;
  for (int i = 0; i < count; ++i) {
    const int kind = tag(&scopes[i]);
    if (kind != DW_TAG_inlined_subroutine && kind != DW_TAG_subprogram) continue;
    at.function = FunctionOf(&scopes[i]);
    calls->push_back(at);
    if (kind == DW_TAG_subprogram) break;
    const char* const file =
        files == nullptr ? nullptr : file_name(files, NumberOf(&scopes[i], DW_AT_call_file), nullptr, nullptr);
    at = {"", file == nullptr ? "" : file, static_cast<int>(NumberOf(&scopes[i], DW_AT_call_line))};
  }
  free(scopes);
}

DebugInfo::DebugInfo(const std::string& maps) : library_(std::make_unique<Library>()) {
  Library& l = *library_;
  if (!l.usable) return;
  l.callbacks.find_elf = l.find_elf;
  l.callbacks.find_debuginfo = NoSeparateFile;
  l.dwfl = l.begin(&l.callbacks);
  FILE* const in = fmemopen(const_cast<char*>(maps.data()), maps.size(), "r");
  if (l.dwfl != nullptr && in != nullptr) {
    l.usable = l.report_maps(l.dwfl, in) == 0 && l.report_end(l.dwfl, nullptr, nullptr) == 0;
  } else {
    l.usable = false;
  }
  if (in != nullptr) fclose(in);
}

DebugInfo::~DebugInfo() = default;

std::vector<SourceCall> DebugInfo::At(uint64_t address) {
  const Library& l = *library_;
  std::vector<SourceCall> calls;
  if (!l.usable) return calls;
  Dwfl_Module* const module = l.module_at(l.dwfl, address);
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = module == nullptr ? nullptr : l.unit_at(module, address, &bias);
  if (unit == nullptr) return calls;
  SourceCall at;
  if (Dwfl_Line* const line = l.line_at(module, address); line != nullptr) {
    const char* const file = l.line_info(line, nullptr, &at.line, nullptr, nullptr, nullptr);
    if (file != nullptr) at.file = file;
  }
  Dwarf_Die* scopes = nullptr;
  const int count = l.scopes_at(unit, address - bias, &scopes);
  if (count > 0) {
    // An inlined call is followed by the scopes of its definition. Those around the call itself begin at its own DIE.
    Dwarf_Die innermost;
    if (l.die_at(l.dwarf_of(module, &bias), l.offset_of(&scopes[0]), &innermost) != nullptr) {
      l.AddCallsOf(&innermost, at, &calls);
    }
    free(scopes);
  }
  return calls;
}

}  // namespace mr::task
