// The API's facts, from the device module.
#include <elf.h>
#include <link.h>

#include <cstring>

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/gpus_seen.hpp"
#include "core/thread_pool.hpp"
#include "garner/build.hpp"

namespace garner {

char const* version() noexcept { return GARNER_VERSION; }

namespace {
// The note of the linker's in the object that this function is in.
int find_build_id(::dl_phdr_info* object, std::size_t, void* found) {
  auto const here = reinterpret_cast<std::uintptr_t>(&find_build_id);
  bool ours = false;
  for (int k = 0; k < object->dlpi_phnum; ++k) {
    auto const& part = object->dlpi_phdr[k];
    ours |= part.p_type == PT_LOAD && here - object->dlpi_addr - part.p_vaddr < part.p_memsz;
  }
  for (int k = 0; ours && k < object->dlpi_phnum; ++k) {
    auto const& part = object->dlpi_phdr[k];
    if (part.p_type != PT_NOTE) continue;
    auto const* at = reinterpret_cast<unsigned char const*>(object->dlpi_addr + part.p_vaddr);
    for (auto const* const end = at + part.p_memsz; at + sizeof(ElfW(Nhdr)) <= end;) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      auto const whole = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
      unsigned char const *const name = at + sizeof note, *const text = name + whole(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
        for (std::size_t i = 0; i < note.n_descsz; ++i) *static_cast<std::string*>(found) += fmt::format("{:02x}", text[i]);
      at = text + whole(note.n_descsz);
    }
  }
  return ours;  // the others are not looked at
}
}  // namespace

std::string build_id() {
  return as_error([] {
    std::string found;
    ::dl_iterate_phdr(&find_build_id, &found);
    return found.empty() ? version() : found;
  });
}

build_info describe_build() {
  return as_error([] {
    build_info all;
    all.version = GARNER_VERSION;
    all.cuda = device::built();
    all.toolkit = this_build().toolkit;
    if (device::count() == 0) all.no_device = device::why_none();
    for (int d = 0; d < device::count(); ++d) {
      device::properties const p = device::describe(d);
      all.devices.push_back({d, p.name, p.multiprocessors, p.compute_major, p.compute_minor, p.memory_bytes, device::memory(d).free_bytes,
                             p.l2_bytes, p.driver_version, p.runtime_version, p.pci});
    }
    return all;
  });
}

unsigned host_threads() {
  return as_error([] { return shared_pool().threads(); });
}
bool has_gpu_support() noexcept { return device::built(); }

}  // namespace garner
