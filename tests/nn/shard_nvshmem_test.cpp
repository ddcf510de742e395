// Rows over NVSHMEM, where a library of tests/stand_in takes its place: windows of processes with the bits of any other provider; and one
// that is absent, too old, of threads, refuses, or never comes to an end. All shards are processes, since each has it once.
#include <gmock/gmock.h>

#include "child.hpp"
#include "nn/shard_training.hpp"
#include "stand_in/stand_in.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

// Leaves what it came to, as a hash of its bits, what rows came over, and what was passed over; or what went wrong.
TEST(shard_nvshmem_process, DISABLED_child) {
  char const* const said = std::getenv("GARNER_SHARD");
  char const* const file = std::getenv("GARNER_SHARD_FILE");
  if (!said || !file) return;
  try {
    learned const found = by_process(orders::read(said), [] { tell('e'); });
    std::ofstream out(file);
    out << hash_of(found.values) << ' ' << to_string(found.link.provider) << ": " << found.link.about;
    for (std::string const& p : found.link.passed_over) out << "; not " << p;
  } catch (error const& e) {
    std::ofstream(file) << e.what();
  }
  ::_exit(0);
}

class shard_nvshmem : public ::testing::Test {
 protected:
  orders ask;
  stand_in nvshmem{"GARNER_NVSHMEM", "nvshmem_stand_in"};
  void SetUp() override {
    if (!nvshmem.there()) GTEST_SKIP() << nvshmem.file << " was not built";
    nvshmem.say("NVSHMEM_DISABLE_NVLS", "1");
    ask.provider = "nvshmem", ask.shards = 3, ask.wait = 20, ask.name = "garner-nvshmem-" + std::to_string(::getpid());
  }
  std::string about() const { return "NVSHMEM 3.4.5 (" + nvshmem.file.string() + ")"; }
  std::string bits() const {
    orders plain = ask;
    plain.provider = "peer", plain.strategy = "bulk", plain.shards = 2;
    return std::to_string(hash_of(by_threads(plain).values));
  }
  // What each shard left. `kill`: the last one, after its first epoch.
  std::vector<std::string> left(bool kill = false) {
    ask.name += "x";
    std::vector<std::unique_ptr<child>> all;
    std::vector<fs::path> files;
    for (std::uint32_t k = 0; k < ask.shards; ++k) {
      orders its = ask;
      its.shard = k;
      files.push_back(fs::temp_directory_path() / (ask.name + std::to_string(k)));
      all.push_back(std::make_unique<child>(
          "shard_nvshmem_process.DISABLED_child",
          std::vector<std::string>{"GARNER_SHARD=" + its.text(), "GARNER_SHARD_FILE=" + files[k].string(), "GARNER_THREADS=1"}));
    }
    if (kill) {
      EXPECT_EQ(all.back()->hears(), 'e');
      all.back()->end(SIGKILL);
    }
    std::vector<std::string> texts;
    for (std::uint32_t k = 0; k < ask.shards; ++k) {
      all[k]->end();
      std::ifstream in(files[k]);
      texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
      fs::remove(files[k]);
    }
    return texts;
  }
};

TEST_F(shard_nvshmem, gives_windows_with_the_same_bits) {
  for (std::string const strategy : {"bulk", "collective"}) {
    ask.strategy = strategy;
    EXPECT_THAT(left(), ::testing::Each(bits() + " nvshmem: " + about() + ", windows"));
  }
  EXPECT_THAT(nvshmem.log(), AllOf(HasSubstr("multicast off 1\n"), HasSubstr("malloc of 2097152\n")));
}
TEST_F(shard_nvshmem, absent_too_old_or_of_threads_is_passed_over) {
  nvshmem.say("GARNER_STAND_IN_MAJOR", "2");
  std::string const old = "NVSHMEM 2.4.5 (" + nvshmem.file.string() + ") is too old; 3.0 or newer is needed";
  EXPECT_THAT(left(), ::testing::Each(StartsWith(bits() + " peer: shared memory; not nvshmem (shard 0: " + old)));
  nvshmem.say("GARNER_NVSHMEM", "/nowhere/libnvshmem_host.so.3");
  EXPECT_THAT(left(), ::testing::Each(HasSubstr("not nvshmem (shard 0: no libnvshmem_host.so.3 (tried /nowhere/libnvshmem_host.so.3)")));
  nvshmem.say("GARNER_NVSHMEM", nvshmem.file.string());
  nvshmem.say("NVSHMEM_DISABLE_NVLS", "0");
  EXPECT_THAT(left(), ::testing::Each(HasSubstr("not nvshmem (shard 0: NVSHMEM_DISABLE_NVLS is 0; ")));
  EXPECT_EQ(by_threads(ask).link.passed_over.at(0), "nvshmem (shard 0: NVSHMEM is for shards that are processes)");
}
TEST_F(shard_nvshmem, one_that_refuses_is_passed_over_by_all) {
  nvshmem.say("GARNER_STAND_IN_RANK", "1");
  for (auto const& [what, why] : {std::pair("init", "nvshmemx_hostlib_init_attr: status 7"), std::pair("malloc", "nvshmem_malloc: "),
                                  std::pair("places", "memory of rank 0 is out of this rank's reach")}) {
    nvshmem.say("GARNER_STAND_IN_REFUSES", what);
    EXPECT_THAT(left(),
                ::testing::Each(AllOf(StartsWith(bits() + " peer: shared memory; not nvshmem (shard 1: " + about()), HasSubstr(why))))
        << what;
  }
  nvshmem.say("GARNER_STAND_IN_REFUSES", "hang");
  ask.wait = 1;
  EXPECT_THAT(left(), ::testing::Each(HasSubstr("not done in 1 seconds")));
}
TEST_F(shard_nvshmem, one_that_is_killed_is_named) {
  ask.epochs = 100000;
  std::vector<std::string> const texts = left(true);
  for (std::uint32_t const k : {0u, 1u}) EXPECT_THAT(texts[k], HasSubstr("rank 2 of 3 has stopped: its process ended"));
}

}  // namespace
}  // namespace garner
