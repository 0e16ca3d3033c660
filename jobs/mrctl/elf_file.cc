#include "jobs/mrctl/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>

namespace mr::ctl {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kOwnMachine = EM_AARCH64;
#else
constexpr uint16_t kOwnMachine = EM_NONE;
#endif

std::string MachineName(uint16_t machine) {
  switch (machine) {
    case EM_X86_64: return "x86_64";
    case EM_AARCH64: return "aarch64";
    case EM_386: return "x86 of 32 bits";
    case EM_ARM: return "arm of 32 bits";
    case EM_RISCV: return "riscv";
    case EM_PPC64: return "ppc64";
    case EM_S390: return "s390";
    default: return "machine number " + std::to_string(machine);
  }
}

// Reads values from bytes by copying, and only within the file.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  std::optional<T> At(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  // Returns the text at `offset` of a string table.
  std::string Text(const Elf64_Shdr& table, uint64_t offset) const {
    if (offset >= table.sh_size || table.sh_offset > bytes_.size() || bytes_.size() - table.sh_offset < table.sh_size)
      return {};
    const std::string_view rest = bytes_.substr(table.sh_offset, table.sh_size).substr(offset);
    return std::string(rest.substr(0, rest.find('\0')));
  }

 private:
  std::string_view bytes_;
};

Status Damaged() { return InvalidArgument("is truncated or damaged: its ELF tables point beyond its end"); }

struct Sections {
  const Bytes& bytes;
  std::vector<Elf64_Shdr> all;

  const Elf64_Shdr* Find(uint32_t type) const {
    const auto at = std::find_if(all.begin(), all.end(), [type](const Elf64_Shdr& s) { return s.sh_type == type; });
    return at == all.end() ? nullptr : &*at;
  }
  std::string Text(const Elf64_Shdr& of, uint64_t offset) const {
    return of.sh_link < all.size() ? bytes.Text(all[of.sh_link], offset) : std::string();
  }
};

bool ReadDynamic(const Sections& in, ElfFile* out) {
  const Elf64_Shdr* section = in.Find(SHT_DYNAMIC);
  if (section == nullptr) return true;
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= section->sh_size; at += sizeof(Elf64_Dyn)) {
    const auto entry = in.bytes.At<Elf64_Dyn>(section->sh_offset + at);
    if (!entry) return false;
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED) out->needed.push_back(in.Text(*section, entry->d_un.d_val));
    if (entry->d_tag == DT_FLAGS_1) out->program = (entry->d_un.d_val & DF_1_PIE) != 0;
    if (entry->d_tag == DT_SONAME) out->soname = in.Text(*section, entry->d_un.d_val);
  }
  return true;
}

bool ReadNeededVersions(const Sections& in, ElfFile* out) {
  const Elf64_Shdr* section = in.Find(SHT_GNU_verneed);
  if (section == nullptr) return true;
  uint64_t at = section->sh_offset;
  for (uint32_t i = 0; i < section->sh_info; ++i) {
    const auto file = in.bytes.At<Elf64_Verneed>(at);
    if (!file) return false;
    uint64_t aux_at = at + file->vn_aux;
    for (uint16_t k = 0; k < file->vn_cnt; ++k) {
      const auto aux = in.bytes.At<Elf64_Vernaux>(aux_at);
      if (!aux) return false;
      if ((aux->vna_flags & VER_FLG_WEAK) == 0) {
        out->needs_versions.push_back({in.Text(*section, file->vn_file), in.Text(*section, aux->vna_name)});
      }
      if (aux->vna_next == 0) break;
      aux_at += aux->vna_next;
    }
    if (file->vn_next == 0) break;
    at += file->vn_next;
  }
  return true;
}

bool ReadOwnVersions(const Sections& in, ElfFile* out) {
  const Elf64_Shdr* section = in.Find(SHT_GNU_verdef);
  if (section == nullptr) return true;
  uint64_t at = section->sh_offset;
  for (uint32_t i = 0; i < section->sh_info; ++i) {
    const auto version = in.bytes.At<Elf64_Verdef>(at);
    if (!version) return false;
    const auto name = in.bytes.At<Elf64_Verdaux>(at + version->vd_aux);
    if (!name) return false;
    if ((version->vd_flags & VER_FLG_BASE) == 0) out->has_versions.push_back(in.Text(*section, name->vda_name));
    if (version->vd_next == 0) break;
    at += version->vd_next;
  }
  return true;
}

bool ReadSymbols(const Sections& in, ElfFile* out) {
  // Symbols that linkers add to every file.
  static const std::set<std::string, std::less<>> kOfLinkers = {"_init", "_fini", "_edata", "_end", "__bss_start"};
  const Elf64_Shdr* section = in.Find(SHT_DYNSYM);
  if (section == nullptr) return true;
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section->sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = in.bytes.At<Elf64_Sym>(section->sh_offset + at);
    if (!symbol) return false;
    const int binding = ELF64_ST_BIND(symbol->st_info), visible = ELF64_ST_VISIBILITY(symbol->st_other);
    // An absolute symbol is the name of a version.
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || binding == STB_LOCAL) continue;
    if (visible == STV_HIDDEN || visible == STV_INTERNAL) continue;
    std::string name = in.Text(*section, symbol->st_name);
    if (name.empty() || kOfLinkers.contains(name)) continue;
    out->exports.push_back({std::move(name), binding != STB_GLOBAL});
  }
  return true;
}

// Returns "GLIBC" and {2, 36} for "GLIBC_2.36".
std::pair<std::string_view, std::vector<int>> Parts(std::string_view version) {
  const size_t digits = version.find_last_of('_');
  std::vector<int> numbers;
  if (digits == version.npos) return {version, numbers};
  for (size_t at = digits + 1; at < version.size();) {
    int n = 0;
    const auto [end, error] = std::from_chars(version.data() + at, version.data() + version.size(), n);
    if (error != std::errc()) return {version, {}};
    numbers.push_back(n);
    at = static_cast<size_t>(end - version.data()) + 1;
  }
  return {version.substr(0, digits), numbers};
}

}  // namespace

Result<ElfFile> ParseElf(std::string_view text) {
  if (text.substr(0, SELFMAG) != ELFMAG) {
    return InvalidArgument(text.empty() ? "is empty" : "is no ELF file, so no shared library");
  }
  if (text.size() < EI_NIDENT) return Damaged();
  if (text[EI_CLASS] != ELFCLASS64 || text[EI_DATA] != ELFDATA2LSB) {
    return InvalidArgument("is for another architecture (32 bits, or another byte order); this machine is " +
                           MachineName(kOwnMachine));
  }
  const Bytes bytes(text);
  const auto head = bytes.At<Elf64_Ehdr>(0);
  if (!head) return Damaged();
  if (head->e_machine != kOwnMachine) {
    return InvalidArgument("is for " + MachineName(head->e_machine) + ", this machine is " + MachineName(kOwnMachine));
  }
  if (head->e_type != ET_DYN) {
    return InvalidArgument(head->e_type == ET_REL    ? "is an object file; link it with -shared"
                           : head->e_type == ET_EXEC ? "is a program; link it with -shared"
                                                     : "is no shared library");
  }
  Sections sections{bytes, {}};
  if (head->e_shnum != 0 && head->e_shentsize != sizeof(Elf64_Shdr)) return Damaged();
  for (uint32_t i = 0; i < head->e_shnum; ++i) {
    const auto section = bytes.At<Elf64_Shdr>(head->e_shoff + uint64_t{i} * sizeof(Elf64_Shdr));
    if (!section) return Damaged();
    const bool in_file = section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL;
    if (in_file && (section->sh_offset > text.size() || text.size() - section->sh_offset < section->sh_size))
      return Damaged();
    sections.all.push_back(*section);
  }
  ElfFile file;
  if (!ReadDynamic(sections, &file) || !ReadNeededVersions(sections, &file) || !ReadOwnVersions(sections, &file) ||
      !ReadSymbols(sections, &file)) {
    return Damaged();
  }
  return file;
}

bool VersionBelow(std::string_view a, std::string_view b) {
  const auto [family_a, numbers_a] = Parts(a);
  const auto [family_b, numbers_b] = Parts(b);
  if (family_a != family_b) return family_a < family_b;
  return numbers_a < numbers_b;
}

std::vector<std::string> MissingVersions(const ElfFile& library, const std::string& name, const ElfFile& system) {
  std::vector<std::string> missing;
  for (const auto& [file, version] : library.needs_versions) {
    if (file != name) continue;
    if (std::find(system.has_versions.begin(), system.has_versions.end(), version) != system.has_versions.end())
      continue;
    std::string highest;
    const std::string family(version.substr(0, version.find_last_of('_') + 1));
    for (const std::string& has : system.has_versions) {
      // Skips GLIBC_PRIVATE.
      if (has.starts_with(family) && !Parts(has).second.empty() && (highest.empty() || VersionBelow(highest, has)))
        highest = has;
    }
    missing.push_back("needs " + version + " (" + file + "), this machine has " +
                      (highest.empty() ? "no version of it" : highest));
  }
  return missing;
}

std::vector<std::string> ClashingSymbols(const ElfFile& library, const ElfFile& host) {
  std::set<std::string_view> of_host;
  for (const auto& symbol : host.exports) of_host.insert(symbol.name);
  std::vector<std::string> clashing;
  for (const auto& symbol : library.exports) {
    if (!symbol.weak && of_host.contains(symbol.name)) clashing.push_back(symbol.name);
  }
  return clashing;
}

}  // namespace mr::ctl
