// The whole user space of a small guest (tests/lab/nvme_qemu_test.py): drives QEMU's NVMe devices by their registers, and
// compares the data. Its last line is "passed", or the error.
//   nvme_guest --image FILE BYTES   on the host: the image of a drive
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>

#include "core/executor.hpp"
#include "core/fail.hpp"
#include "lab/bam/queue.hpp"
#include "lab/nvme/controller.hpp"
#include "lab/nvme/pci.hpp"
#include "storage_support.hpp"

namespace garner {
namespace {
using namespace lab;
using testing::byte_at;

template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  std::printf("%s\n", fmt::format(text, std::forward<Args>(args)...).c_str());
  std::fflush(stdout);
}
void hold(bool is_so, std::string const& what) {
  if (!is_so) throw std::runtime_error(what);
}
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (error const& e) {
    say("  said: {}", e.what());
    return e.what();
  }
  throw std::runtime_error("no error was thrown");
}
void hold_said(std::string const& said, char const* part) { hold(said.find(part) != said.npos, said + " does not contain: " + part); }

void read_and_compare(executor& x, request_queues& queues, std::uint64_t n, std::uint64_t seed) {
  std::vector<std::uint64_t> pages(n);
  std::vector<std::uint32_t> frames(n);
  for (std::uint64_t i = 0; i < n; ++i) pages[i] = mix(seed + i) % queues.pages(), frames[i] = static_cast<std::uint32_t>(i);
  for (std::uint32_t k = 0; k < n; ++k) std::memset(queues.frame(k), 0xee, queues.page_bytes());
  queues.read(x, pages, frames);
  for (std::uint64_t i = 0; i < n; ++i)
    hold(testing::holds(queues.frame(frames[i]), pages[i] * queues.page_bytes(), queues.page_bytes()),
         fmt::format("page {} of {} bytes is not what lies there", pages[i], queues.page_bytes()));
}
queue_options with(std::uint32_t page_bytes, std::uint32_t frames, double time_out = 10) {
  queue_options o;
  o.page_bytes = page_bytes, o.frames = frames, o.time_out_seconds = time_out;
  return o;
}

// A drive whose configured size is too large.
class beyond final : public queue_provider {
 public:
  explicit beyond(nvme_queues& of) : of_(of), drives_(of.drives()) { drives_[0].blocks *= 2; }
  std::vector<queue> const& queues() const override { return of_.queues(); }
  std::vector<queue_drive> const& drives() const override { return drives_; }
  std::shared_ptr<bus_memory> const& memory() const override { return of_.memory(); }
  std::vector<unsigned> restart(unsigned queue, std::span<std::uint16_t const> ids) override { return of_.restart(queue, ids); }

 private:
  nvme_queues& of_;
  std::vector<queue_drive> drives_;
};

void sound_drive(std::string const& address) {
  auto const memory = std::make_shared<physical_memory>();
  executor x({device_kind::cpu, 0});
  pci_registers const bar(address);
  nvme_controller drive(bar.registers(), memory, address, {});
  nvme_facts const& f = drive.facts();
  say("{}: {} {} {}, version {:x}h, {} blocks of {}, commands of at most {} bytes, {} queues of {} entries (up to {})", address, f.model,
      f.serial, f.firmware, f.version, f.blocks, f.block_bytes, f.most_bytes, f.queues, f.depth, f.most_entries);
  hold(f.serial == "garner0" && f.model.starts_with("QEMU NVMe") && f.queues == 4 && f.depth == 256, "it is another drive");
  nvme_queues provider({&drive});
  for (std::uint32_t const page : {512u, 4096u, 8192u, 12288u, 65536u, 524288u}) {
    if (page > f.most_bytes && f.most_bytes) continue;
    request_queues queues(x, provider, with(page, 64));
    for (std::uint64_t round = 0; round < 3; ++round) read_and_compare(x, queues, 64, page + 100 * round);
    queue_report const r = queues.report(x);
    say("pages of {}: {} commands, {} doorbells, {} strays, {} again, {} restarts", page, r.commands, r.doorbells, r.strays, r.again,
        r.restarts);
    hold(r.strays == 0 && r.again == 0 && r.restarts == 0, "something went wrong on the way");
  }
  // More than the rings hold.
  {
    request_queues queues(x, provider, with(4096, 4000));
    for (std::uint64_t round = 0; round < 2; ++round) read_and_compare(x, queues, 4000, round);
    say("4000 pages: {} commands, {} doorbells", queues.report(x).commands, queues.report(x).doorbells);
  }
  // Statuses of its own.
  std::uint32_t answer = 0;
  std::uint32_t const status = drive.try_admin({{nvme::head(0xc0, 0)}}, answer);
  say("an unknown admin command: {}", nvme::status_name(status));
  hold((status & nvme::code_bits) == nvme::invalid_opcode, "another status than Invalid Command Opcode");
  hold(!drive.abort(0, 5), "a command was aborted that is not there");
  {
    beyond wrong(provider);
    request_queues queues(x, wrong, with(4096, 4));
    std::vector<std::uint64_t> const pages{f.blocks * f.block_bytes / 4096 + 3};
    std::vector<std::uint32_t> frames{0};
    hold_said(error_of([&] { queues.read(x, pages, frames); }), "LBA Out of Range");
  }
  {
    nvme_options o;
    o.name_space = 9000;
    hold_said(error_of([&] { nvme_controller(bar.registers(), memory, address, o); }), "has no name space 9000");
  }
  // Another owner has reset it: the admin queue no longer exists, and a reset restores everything.
  drive.reset();
  request_queues queues(x, provider, with(4096, 64));
  read_and_compare(x, queues, 64, 1);
  hold(!drive.restart(1, {}), "it was reset where a queue was to be made anew");
}

// Its reads of one position fail with EIO.
void failing_drive(std::string const& address) {
  auto const memory = std::make_shared<physical_memory>();
  executor x({device_kind::cpu, 0});
  pci_registers const bar(address);
  nvme_controller drive(bar.registers(), memory, address, {});
  nvme_queues provider({&drive});
  request_queues queues(x, provider, with(4096, 64));
  std::vector<std::uint64_t> const pages{5, 16, 7};
  std::vector<std::uint32_t> frames{0, 1, 2};
  std::string const said = error_of([&] { queues.read(x, pages, frames); });
  hold_said(said, "page 16 (4096 bytes at byte 65536)");
  hold_said(said, "Unrecovered Read Error");
  std::vector<std::uint64_t> const sound{5, 15, 7};
  queues.read(x, sound, frames);
  hold(testing::holds(queues.frame(frames[1]), 15 * 4096, 4096), "another page");
}

// It completes few requests per second: time-outs, deleted queues, resets; in the end an error or the right pages.
void slow_drive(std::string const& address) {
  auto const memory = std::make_shared<physical_memory>();
  executor x({device_kind::cpu, 0});
  pci_registers const bar(address);
  nvme_options n;
  n.time_out_seconds = 2;
  nvme_controller drive(bar.registers(), memory, address, n);
  nvme_queues provider({&drive});
  {
    queue_options o = with(4096, 64, 0.3);
    o.retries = 1;
    request_queues queues(x, provider, o);
    std::vector<std::uint64_t> pages(64);
    std::vector<std::uint32_t> frames(64);
    for (std::uint32_t k = 0; k < 64; ++k) pages[k] = k * 3, frames[k] = k;
    hold_said(error_of([&] { queues.read(x, pages, frames); }), "no answer within 0.3 s");
    hold(queues.report(x).restarts >= 1, "no queue was made anew");
  }
  auto const& e = drive.what_happened();
  say("{} aborts, {} queues deleted, {} resets", e.aborts, e.queues_deleted, e.resets);
  hold(e.aborts >= 1 && e.queues_deleted + e.resets >= 1, "nothing was ended");
  request_queues queues(x, provider, with(4096, 4, 20));
  read_and_compare(x, queues, 3, 1);
}

void all() {
  for (auto const& [what, where] : {std::pair("proc", "/proc"), std::pair("sysfs", "/sys"), std::pair("devtmpfs", "/dev")}) {
    ::mkdir(where, 0755);
    ::mount(what, where, what, 0, nullptr);
  }
  std::ofstream("/proc/sys/vm/nr_hugepages") << 40;
  auto const found = nvme_addresses();
  hold(found.size() == 3, fmt::format("{} drives of NVMe where there are 3", found.size()));
  for (std::string const& address : found) {
    std::error_code none;
    std::string const driver = "/sys/bus/pci/devices/" + address + "/driver";
    if (!std::filesystem::exists(driver, none)) continue;
    hold_said(error_of([&] { pci_registers const held(address); }), "is held by the driver nvme");
    std::ofstream(driver + "/unbind") << address;
  }
  hold_said(error_of([] { pci_registers const other("0000:00:00.0"); }), "no drive of NVMe");
  hold_said(error_of([] { pci_registers const none("0000:77:00.0"); }), "not found");
  sound_drive(found[0]);
  failing_drive(found[1]);
  slow_drive(found[2]);
}

void make_image(char const* file, std::uint64_t bytes) {
  std::vector<std::byte> part(1 << 20);
  std::ofstream out(file, std::ios::binary);
  for (std::uint64_t at = 0; at < bytes; at += part.size()) {
    for (std::uint64_t k = 0; k < part.size(); ++k) part[k] = byte_at(at + k);
    out.write(reinterpret_cast<char const*>(part.data()), static_cast<std::streamsize>(part.size()));
  }
}

}  // namespace
}  // namespace garner

int main(int n, char** words) {
  if (n == 4 && std::string(words[1]) == "--image") {
    garner::make_image(words[2], std::stoull(words[3]));
    return 0;
  }
  if (::getpid() != 1) {
    std::fprintf(stderr, "nvme_guest: is the first program of a guest; tests/lab/nvme_qemu_test.py starts it\n");
    return 2;
  }
  try {
    garner::all();
    garner::say("passed");
  } catch (std::exception const& e) {
    garner::say("failed: {}", e.what());
  }
  ::sync();
  ::reboot(RB_POWER_OFF);
  for (;;) ::pause();
}
