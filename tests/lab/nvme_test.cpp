// An NVMe drive is found, identified, and closed: its own data, what it rejects, and the text of statuses.
#include "lab/nvme/controller.hpp"

#include <gmock/gmock.h>

#include "emulated_controller.hpp"
#include "lab/nvme/pci.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using namespace garner::lab;
using ::testing::HasSubstr;

struct drive {
  explicit drive(controller_shape shape = {}) : emulated(memory, std::move(shape)) {}
  std::unique_ptr<nvme_controller> open(nvme_options o = {}) {
    return std::make_unique<nvme_controller>(emulated.registers(), memory, "d", o);
  }
  ~drive() {
    EXPECT_THAT(emulated.offences(), ::testing::IsEmpty());
    EXPECT_EQ(memory->blocks(), left_behind);
  }
  std::shared_ptr<elsewhere_memory> memory = std::make_shared<elsewhere_memory>(-1);
  emulated_controller emulated;
  std::size_t left_behind = 0;
};

TEST(Nvme, TellsOfItself) {
  controller_shape shape;
  shape.block_bytes = 4096, shape.blocks = 12345, shape.queues = 3, shape.most_entries = 100, shape.name_spaces = 2;
  drive d(shape);
  nvme_options o;
  o.queues = 8, o.name_space = 2;
  auto const c = d.open(o);
  nvme_facts const& f = c->facts();
  EXPECT_EQ(f.serial, "EMU0001");
  EXPECT_EQ(f.model, "Emulated drive");
  EXPECT_EQ(f.firmware, "1.0");
  EXPECT_EQ(f.version, 0x10400u);
  EXPECT_EQ(f.block_bytes, 4096u);
  EXPECT_EQ(f.blocks, 12345u);
  EXPECT_EQ(f.most_bytes, 131072u);
  EXPECT_EQ(f.most_entries, 100u);
  EXPECT_EQ(f.depth, 64u);  // a power of two
  EXPECT_EQ(f.queues, 3u);
  EXPECT_EQ(c->drive().name_space, 2u);
}

TEST(Nvme, QueuesOfEverySizeAndStride) {
  for (std::uint32_t const stride : {0u, 1u, 4u})
    for (std::uint32_t const depth : {2u, 16u, 256u}) {
      controller_shape shape;
      shape.stride = stride;
      drive d(shape);
      nvme_options o;
      o.queues = 5, o.depth = depth;
      auto const c = d.open(o);
      EXPECT_EQ(c->facts().queues, 5u);
      EXPECT_EQ(c->facts().depth, depth);
      auto const at = [&](std::uint32_t const* p) { return (p - d.emulated.registers().base) * 4; };
      EXPECT_EQ(at(c->rings(1).tail_doorbell), 0x1000 + 4 * (4 << stride));
      EXPECT_EQ(at(c->rings(1).head_doorbell), 0x1000 + 5 * (4 << stride));
    }
}

TEST(Nvme, AdminCommandsOneByOneAndMoreThanTheRingHas) {
  drive d;
  auto const c = d.open();
  for (std::uint32_t k = 0; k < 200; ++k) {
    nvme_command wrong{{nvme::head(0xc0, 0)}};
    std::uint32_t answer = 0;
    EXPECT_EQ(c->try_admin(wrong, answer), nvme::invalid_opcode | nvme::final_bit);
  }
  EXPECT_EQ(error_of([&] { c->admin({{nvme::head(0xc0, 0)}}, "to sing"); }),
            "d: to sing: Invalid Command Opcode (type 0, code 01h, not to be tried again)");
  EXPECT_FALSE(c->abort(0, 77));  // no such command
}

TEST(Nvme, ResetsAndGoesOn) {
  drive d;
  auto const c = d.open();
  for (int k = 0; k < 3; ++k) c->reset();
  EXPECT_EQ(c->what_happened().resets, 3u);
  EXPECT_FALSE(c->restart(1, {}));
  EXPECT_EQ(c->what_happened().queues_deleted, 1u);
}

TEST(Nvme, TwoInTurnOnOneDrive) {
  drive d;
  d.open();
  d.open();
  EXPECT_GE(d.emulated.resets, 2u);
}

TEST(Nvme, WhatGarnerCannotRead) {
  auto const said = [](controller_shape const& shape, nvme_options const& o = {}) {
    drive d(shape);
    return error_of([&] { d.open(o); });
  };
  controller_shape s;
  s.metadata = 8;
  EXPECT_EQ(said(s), "d: name space 1 has 8 bytes of metadata a block; format it without");
  s = {};
  s.sq_sizes = 0x77;
  EXPECT_THAT(said(s), HasSubstr("takes entries of 2^7 to 2^7 and 2^4 to 2^4 bytes"));
  s = {};
  s.blocks = 0;
  EXPECT_EQ(said(s), "d: name space 1 is not attached, or has no blocks");
  s = {};
  s.block_bytes = 256;
  EXPECT_EQ(said(s), "d: blocks of 2^8 bytes; 2^9 to 2^20 can be read");
  s = {};
  nvme_options o;
  o.name_space = 3;
  EXPECT_EQ(said(s, o), "d: has no name space 3; it numbers them up to 1");
  o = {};
  o.depth = 100;
  EXPECT_EQ(said(s, o), "4 queues of 100 entries; use 1 to 65535, and a power of two from 2 to 4096");
}

TEST(Nvme, RegistersThatAreNone) {
  auto const memory = std::make_shared<elsewhere_memory>(-1);
  std::vector<std::uint32_t> words(2048);
  auto const said = [&](std::size_t bytes) {
    return error_of([&] { nvme_controller(nvme_registers{words.data(), bytes}, memory, "d", {}); });
  };
  EXPECT_THAT(said(256), HasSubstr("256 bytes of registers"));
  EXPECT_THAT(said(8192), HasSubstr("has not the commands of NVM"));
  words[1] = 1u << 5 | 1u << 16;
  EXPECT_THAT(said(8192), HasSubstr("wants pages of memory of 8192 bytes"));
  words[0] = words[1] = ~0u;
  EXPECT_THAT(said(8192), HasSubstr("its registers read as ones"));
  EXPECT_EQ(memory->blocks(), 0u);
  // One that never becomes ready, and one that stays ready.
  words[0] = 63, words[1] = 1u << 5;
  EXPECT_THAT(said(8192), HasSubstr("d: not ready within 0.5 s"));
  words[7] = 1;
  EXPECT_THAT(said(8192), HasSubstr("d: not reset within 0.5 s"));
  EXPECT_EQ(memory->blocks(), 0u);
}

TEST(Nvme, WhatGoesWrongWhileItIsOpened) {
  drive d;
  d.emulated.faults = [](unsigned, nvme_command const& c) {
    return nvme::opcode_of(c) == 5 ? fault{fault::answered, 0, nvme::invalid_queue_size | nvme::final_bit} : fault{};
  };
  EXPECT_EQ(error_of([&] { d.open(); }), "d: to make a completion queue: Invalid Queue Size (type 1, code 02h, not to be tried again)");
  d.emulated.faults = [](unsigned, nvme_command const& c) { return nvme::opcode_of(c) == 6 ? fault{fault::lost} : fault{}; };
  nvme_options o;
  o.time_out_seconds = 0.3;
  EXPECT_EQ(error_of([&] { d.open(o); }), "d: admin command 06h did not complete within 0.3 s");
  d.emulated.faults = {};
  d.open();
}

// Linux's view of PCI, in files of the same names.
struct shown : in_folder {
  void device(std::string const& name, std::string const& kind) const {
    std::filesystem::create_directories(folder / name);
    std::ofstream(folder / name / "class") << kind << "\n";
    std::ofstream(folder / name / "enable") << "0";
    std::ofstream(folder / name / "config") << std::string(64, '\0');
    std::ofstream(folder / name / "resource0") << std::string(16384, '\0');
  }
  unsigned command_of(std::string const& name) const {
    std::ifstream in(folder / name / "config", std::ios::binary);
    std::string all(64, '\0');
    in.read(all.data(), 64);
    return static_cast<unsigned char>(all[4]) | static_cast<unsigned>(static_cast<unsigned char>(all[5])) << 8;
  }
};
using NvmeOnPci = shown;

TEST_F(NvmeOnPci, IsFoundMappedAndLetGo) {
  device("0000:00:04.0", "0x010802");
  device("0000:00:02.0", "0x010802");
  device("0000:00:03.0", "0x030000");
  EXPECT_EQ(nvme_addresses(folder), (std::vector<std::string>{"0000:00:02.0", "0000:00:04.0"}));
  EXPECT_THAT(nvme_addresses(folder / "none"), ::testing::IsEmpty());
  {
    pci_registers const bar("0000:00:04.0", folder);
    EXPECT_EQ(bar.registers().bytes, 16384u);
    EXPECT_EQ(command_of("0000:00:04.0"), 0x406u);
    bar.registers().write(nvme::admin_sq, 0x1234);
    EXPECT_EQ(bar.registers().read(nvme::admin_sq), 0x1234u);
  }
  EXPECT_EQ(command_of("0000:00:04.0"), 0x402u);  // bus mastering is off
}
TEST_F(NvmeOnPci, WhatIsInTheWay) {
  device("a", "0x010802");
  auto const said = [&](std::string const& name) { return error_of([&] { pci_registers(name, folder); }); };
  EXPECT_THAT(said("b"), HasSubstr("b: not found"));
  EXPECT_THAT(said("../a"), HasSubstr("../a: not found"));
  device("c", "0x020000");
  EXPECT_EQ(said("c"), "c: is of class 020000, no drive of NVMe");
  std::filesystem::create_symlink("../drivers/nvme", folder / "a" / "driver");
  EXPECT_THAT(said("a"), HasSubstr("a: is held by the driver nvme"));
  std::filesystem::remove(folder / "a" / "driver");
  std::filesystem::create_directory(folder / "a" / "iommu_group");
  EXPECT_THAT(said("a"), HasSubstr("a: lies behind an IOMMU"));
  std::filesystem::remove(folder / "a" / "iommu_group");
  std::filesystem::remove(folder / "a" / "resource0");
  EXPECT_THAT(said("a"), HasSubstr("resource0: cannot be opened: No such file"));
  std::ofstream(folder / "a" / "resource0") << std::string(16384, '\0');
  std::filesystem::remove(folder / "a" / "config");
  EXPECT_THAT(said("a"), HasSubstr("config: cannot be changed"));
  std::filesystem::remove(folder / "a" / "enable");
  std::filesystem::create_directory(folder / "a" / "enable");
  EXPECT_THAT(said("a"), HasSubstr("enable: cannot be written"));
}

TEST(PhysicalMemory, AddressesOrOneError) {
  physical_memory memory;
  EXPECT_THAT(error_of([&] { (void)memory.address(&memory); }), HasSubstr("in no block"));
  std::byte* at = nullptr;
  std::string said;
  try {
    at = memory.allocate(3000000, "a test");
  } catch (error const& e) {
    said = e.what();
  }
  if (!at) {  // without huge pages or root: the guest of nvme_qemu_test.py has both
    EXPECT_THAT(said, ::testing::AnyOf(HasSubstr("2 huge pages for a test"), HasSubstr("does not show where pages lie")));
    return;
  }
  EXPECT_EQ(memory.address(at) % (2 << 20), 0u);
  EXPECT_EQ(memory.address(at + 5000), memory.address(at) + 5000);
  EXPECT_EQ(memory.address(at + (2 << 20)) % (2 << 20), 0u);
  memory.release(at);
  EXPECT_THAT(error_of([&] { (void)memory.address(at); }), HasSubstr("in no block"));
}

TEST(Nvme, NamesOfStatuses) {
  EXPECT_EQ(nvme::status_name(0x80), "LBA Out of Range (type 0, code 80h)");
  EXPECT_EQ(nvme::status_name(0x4281), "Unrecovered Read Error (type 2, code 81h, not to be tried again)");
  EXPECT_EQ(nvme::status_name(0x101), "Invalid Queue Identifier (type 1, code 01h)");
  EXPECT_EQ(nvme::status_name(0x0f0), "a generic status (type 0, code f0h)");
  EXPECT_EQ(nvme::status_name(0x2ff), "a media error (type 2, code ffh)");
  EXPECT_EQ(nvme::status_name(0x7c0), "a status of the vendor's (type 7, code c0h)");
}

TEST(Nvme, WordsOfACommand) {
  nvme_command const c = nvme::transfer(nvme::io::read, 7, 0x123456789abcull, 16, 0x1000, 0x2000);
  EXPECT_EQ(nvme::word_of(c, 0), 2u);
  EXPECT_EQ(nvme::word_of(c, 1), 7u);
  EXPECT_EQ(nvme::word_of(c, 6), 0x1000u);
  EXPECT_EQ(nvme::word_of(c, 8), 0x2000u);
  EXPECT_EQ(nvme::word_of(c, 10), 0x56789abcu);
  EXPECT_EQ(nvme::word_of(c, 11), 0x1234u);
  EXPECT_EQ(nvme::word_of(c, 12), 15u);  // one less
  EXPECT_EQ(nvme::phase_at(0, 4), 1u);
  EXPECT_EQ(nvme::phase_at(3, 4), 1u);
  EXPECT_EQ(nvme::phase_at(4, 4), 0u);
  EXPECT_EQ(nvme::phase_at(8, 4), 1u);
}

}  // namespace
}  // namespace garner
