// Rows on peers that are processes: each holds a share and reads all, what a killed one leaves, and tables that do not match.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "child.hpp"
#include "comm/peer_group.hpp"
#include "features/numbered_rows.hpp"
#include "refused.hpp"

namespace garner {
namespace {
using namespace garner::testing;

struct group_table {  // the common options
  numbered_rows data{1000, 5};
  std::vector<float> scores = some_scores(1000);
  tiered_options options;
  group_table(execution_device where, std::string const& name, std::vector<int> peers, std::uint64_t a_peer) {
    options.device = where, options.feature_cache = 300 * 40, options.peer_cache = a_peer * 40;
    options.peers = std::move(peers), options.scores = scores, options.group = name;
  }
};

// One of the processes: reports when it has read all rows, again on request, and when it has released the table.
TEST(tiers, DISABLED_member) {
  char const *const name = std::getenv("GARNER_GROUP"), *const index = std::getenv("GARNER_GROUP_INDEX"),
                    *const members = std::getenv("GARNER_GROUP_MEMBERS"), *const a_peer = std::getenv("GARNER_GROUP_ROWS");
  if (!name || !index || !members || !a_peer) return;
  try {
    std::vector<int> peers(std::stoul(members));
    std::iota(peers.begin(), peers.end(), 0);
    device_kind const kind = std::getenv("GARNER_GROUP_DEVICE") ? device_kind::cuda : device_kind::simulated;
    group_table const table({kind, std::stoi(index)}, name, peers, std::stoul(a_peer));
    {
      tiered_tensor t(table.data.rows, table.options);
      for (int round = 0; round < 2; ++round) {
        expect_all_rows(t);
        tell(::testing::Test::HasFailure() ? 'w' : 'r');
        go();
      }
    }
    tell('l');
    go();
    ::_exit(peer_group::left_behind() == 0 ? 0 : 3);
  } catch (error const& e) {
    tell(static_cast<char>('0' + static_cast<int>(e.code())));
    ::_exit(4);
  }
}

class processes : public ::testing::TestWithParam<device_kind> {
 protected:
  void SetUp() override {
    if (GetParam() == device_kind::cuda) {
      if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
      if (device::count() < 2) GTEST_SKIP() << "needs two GPUs";
      if (!device::peer_of(0, 1).fast || !device::peer_of(1, 0).fast) GTEST_SKIP() << "devices 0 and 1 have no fast link";
      members_ = 2;
    }
    for (int k = 0; k < members_; ++k) peers_.push_back(k);
    name_ = "tiers-" + std::to_string(::getpid());
    used_ = pays().used();
  }
  void TearDown() override {
    if (IsSkipped()) return;
    EXPECT_FALSE(std::filesystem::exists(peer_group::file(name_)));
    EXPECT_EQ(peer_group::left_behind(), 0u);
    EXPECT_EQ(pays().used(), used_);
  }
  budget& pays() const { return GetParam() == device_kind::cuda ? device_budget(0) : host_budget(); }
  group_table table(std::uint64_t a_peer = 100) const { return {{GetParam(), 0}, name_, peers_, a_peer}; }
  std::vector<std::unique_ptr<child>> others(std::uint64_t a_peer = 100) const {
    std::vector<std::unique_ptr<child>> all;
    for (int k = 1; k < members_; ++k) {
      std::vector<std::string> said{"GARNER_GROUP=" + name_, "GARNER_GROUP_INDEX=" + std::to_string(k),
                                    "GARNER_GROUP_MEMBERS=" + std::to_string(members_), "GARNER_GROUP_ROWS=" + std::to_string(a_peer),
                                    "GARNER_THREADS=1"};
      if (GetParam() == device_kind::cuda) said.push_back("GARNER_GROUP_DEVICE=1");
      all.push_back(std::make_unique<child>("tiers.DISABLED_member", said));
    }
    return all;
  }
  int members_ = 3;
  std::vector<int> peers_;
  std::string name_;
  std::uint64_t used_ = 0;
};
INSTANTIATE_TEST_SUITE_P(at, processes, ::testing::Values(device_kind::simulated, device_kind::cuda),
                         [](auto const& info) { return name_of(info.param); });

TEST_P(processes, hold_a_share_each_and_read_all) {
  auto const all = others();
  group_table const mine = table();
  std::uint64_t const before = pays().used();
  {
    tiered_tensor t(mine.data.rows, mine.options);
    EXPECT_EQ(t.tiers()[tier::device], 300u);
    EXPECT_EQ(t.tiers()[tier::peer], 100u * static_cast<std::uint64_t>(members_));
    EXPECT_THAT(t.about(), HasSubstr(fmt::format("on {} peers in turn, a process each", members_)));
    EXPECT_LT(pays().used() - before, 300 * 40 + 4096 + 4000 + 1000u);  // of the peers' rows its own share alone
    EXPECT_TRUE(refused(errc::usage, "the peers of this table are processes", [&] { t.for_device(t.device()); }));
    for (auto const& c : all) EXPECT_EQ(c->hears(), 'r');
    expect_all_rows(t);
    for (auto const& c : all) c->go();
    for (auto const& c : all) EXPECT_EQ(c->hears(), 'r');
    for (auto const& c : all) c->go();
    for (auto const& c : all) EXPECT_EQ(c->hears(), 'l');
    expect_all_rows(t);  // they have released it, and keep the rows that are read here
  }
  for (auto const& c : all) EXPECT_EQ(c->end(), 0);
}

TEST_P(processes, keep_what_all_have_room_for) {
  for (std::uint64_t least : {7, 0}) {
    auto const all = others(least);
    group_table const mine = table(100);
    tiered_tensor t(mine.data.rows, mine.options);
    EXPECT_EQ(t.tiers()[tier::peer], least * static_cast<std::uint64_t>(members_));
    EXPECT_THAT(t.about(), HasSubstr(least ? "a process each" : "700 (27.3 KiB) in host memory"));
    expect_all_rows(t);
    for (auto const& c : all) EXPECT_EQ(c->hears(), 'r');
    for (auto const& c : all) c->end();
    if (least == 0) {
      EXPECT_NO_THROW(expect_all_rows(t));  // all rows are available
    }
  }
}

TEST_P(processes, that_were_killed_are_said) {
  auto const all = others();
  group_table const mine = table();
  tiered_tensor t(mine.data.rows, mine.options);
  for (auto const& c : all) EXPECT_EQ(c->hears(), 'r');
  all.back()->end(SIGKILL);
  EXPECT_TRUE(
      refused(errc::device, fmt::format("member {} of the group '{}' (process ", members_ - 1, name_), [&] { expect_all_rows(t); }));
  EXPECT_EQ(t.tiers()[tier::peer], 100u * static_cast<std::uint64_t>(members_));
  for (auto const& c : all) c->end();
}

TEST_P(processes, are_killed_in_the_middle_of_gathers) {
  auto const all = others();
  group_table const mine = table();
  tiered_tensor t(mine.data.rows, mine.options);
  for (auto const& c : all) EXPECT_EQ(c->hears(), 'r');
  executor x(t.device());
  auto const ids = all_ids(1000);
  auto const near = near_copy(x, ids);
  buffer<std::int64_t> const out(x.near(), 5000, x.device(), "a test");
  std::uint64_t rounds = 0;
  std::jthread const killer([&] {
    ::usleep(50'000);
    all.front()->end(SIGKILL);
  });
  auto const give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  EXPECT_TRUE(refused(errc::device, [&] {
    for (; std::chrono::steady_clock::now() < give_up; ++rounds) t.gather({near.data(), ids.size(), 8}, out);
  }));
  EXPECT_GT(rounds, 0u);
  if (GetParam() == device_kind::simulated) {  // shared memory outlives its owner: the last successful gather was right
    auto const got = host_copy(x, out.data(), 5000);
    for (std::uint64_t k = 0; k < got.size(); ++k) ASSERT_EQ(got[k], ids[k / 5]);
  }
}

TEST_P(processes, of_other_tables_do_not_meet) {
  auto const all = others();
  group_table mine = table();
  mine.scores[17] += 1;
  // The first error is right; the others report it, or time out waiting for one that does not come.
  mine.options.timeout_seconds = 1;
  errc code{};
  std::string const said = error_of([&] { tiered_tensor(mine.data.rows, mine.options); }, &code);
  EXPECT_TRUE(code == errc::usage || code == errc::io) << said;
  for (auto const& c : all) c->end(SIGKILL);
  std::filesystem::remove(peer_group::file(name_));  // of those that were killed while they waited
}

TEST(tiers, a_group_has_peers) {
  numbered_rows const data(100, 4);
  tiered_options o;
  o.device = {device_kind::simulated, 0}, o.group = "g";
  EXPECT_TRUE(refused(errc::usage, "a group of processes ('g') and no peers", [&] { tiered_tensor(data.rows, o); }));
}

}  // namespace
}  // namespace garner
