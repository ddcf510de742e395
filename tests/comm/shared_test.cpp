// Tables shared by real processes: this program starts itself for each of them (DISABLED_child), since threads do not survive a fork.
#include "comm/shared.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <thread>

#include "child.hpp"
#include "garner/handle.hpp"
#include "memory/budget.hpp"
#include "memory/pin.hpp"
#include "support.hpp"

namespace garner {
namespace {

using testing::error_of;
using testing::go;
using testing::tell;
namespace fs = std::filesystem;

std::uint32_t word(std::uint64_t i) { return static_cast<std::uint32_t>(i * 2654435761u + 17); }
bool holds_words(shared_table const& t) {
  row_array const r = t.rows();
  auto const* const w = static_cast<std::uint32_t const*>(r.data);
  for (std::uint64_t i = 0; i < r.rows * r.width; ++i)
    if (w[i] != word(i)) return false;
  return true;
}
void fill(shared_table& t) {
  auto* const w = static_cast<std::uint32_t*>(t.data());
  for (std::uint64_t i = 0; i < t.bytes() / 4; ++i) w[i] = word(i);
  t.publish();
}

// The actions of the other processes (tests/child.hpp): a letter reports their progress.
TEST(shared_table, DISABLED_child) {
  char const *const what = std::getenv("GARNER_CHILD"), *const name = std::getenv("GARNER_CHILD_TABLE");
  if (!what) return;
  std::string const todo = what;
  int result = 0;
  try {
    if (todo == "attach" || todo == "read") {
      shared_table const t = shared_table::attach(name);
      if (!holds_words(t)) result = 3;
      tell(result ? 'w' : 'a');
      while (todo == "read") holds_words(t);  // until it is killed
      go();
    } else if (todo == "create" || todo == "start") {
      shared_table t = shared_table::create(name, 1000, 33, element::f32);
      if (todo == "create") fill(t);
      tell('c');
      go();
      if (todo == "start") {
        fill(t);
        tell('f');
        go();
      }
    }
  } catch (error const& e) {
    tell(static_cast<char>('0' + static_cast<int>(e.code())));
    result = 4;
  }
  ::_exit(result);
}

class child : public testing::child {
 public:
  child(char const* what, std::string const& name)
      : testing::child("shared_table.DISABLED_child",
                       {std::string("GARNER_CHILD=") + what, "GARNER_CHILD_TABLE=" + name, "GARNER_THREADS=1"}) {}
};

class shared_tables : public ::testing::Test {
 protected:
  void SetUp() override {
    name_ = "test-" + std::to_string(::getpid()) + "-" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    file_ = shared_file(name_);
    used_ = host_budget().used();
  }
  void TearDown() override {
    EXPECT_FALSE(fs::exists(file_)) << "left behind";
    fs::remove(file_);
    EXPECT_EQ(host_budget().used(), used_);
  }
  shared_table make() {
    shared_table t = shared_table::create(name_, 1000, 33, element::f32);
    fill(t);
    return t;
  }
  // The process that created the table was killed.
  void leave_stale(char const* how = "create") {
    child c(how, name_);
    ASSERT_EQ(c.hears(), 'c');
    ASSERT_EQ(c.end(SIGKILL), 128 + SIGKILL);
    ASSERT_TRUE(fs::exists(file_));
  }
  void change_header(std::function<void(shared_header&)> const& change, bool sum = true) {
    std::fstream f(file_, std::ios::in | std::ios::out | std::ios::binary);
    shared_header h;
    f.read(reinterpret_cast<char*>(&h), sizeof h);
    change(h);
    if (sum) h.checksum = h.sum();
    f.seekp(0);
    f.write(reinterpret_cast<char const*>(&h), sizeof h);
  }
  std::string name_;
  fs::path file_;
  std::uint64_t used_ = 0;
};

TEST_F(shared_tables, are_a_users_own_and_paid_for_once) {
  shared_table const t = make();
  struct ::stat s {};
  ASSERT_EQ(::stat(file_.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0600u);
  EXPECT_EQ(s.st_uid, ::geteuid());
  EXPECT_EQ(host_budget().used() - used_, 135168u);  // 132,000 bytes in whole pages
  {
    shared_table const again = shared_table::attach(name_);
    EXPECT_TRUE(holds_words(again));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(again.rows().data) % 4096, 0u);
    EXPECT_EQ(again.rows().rows, 1000u);
    EXPECT_EQ(again.rows().width, 33u);
    EXPECT_EQ(again.rows().kind, element::f32);
    EXPECT_EQ(again.bytes(), 132'000u);
    EXPECT_FALSE(again.created_here());
    EXPECT_EQ(host_budget().used() - used_, 135168u);
  }
  EXPECT_TRUE(fs::exists(file_)) << "a table attached in the same process must not remove the file";
}

TEST_F(shared_tables, are_not_changed_by_umask) {
  ::mode_t const old = ::umask(0777);
  {
    shared_table const t = make();
    struct ::stat s {};
    EXPECT_EQ(::stat(file_.c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 07777, 0600u);
  }
  ::umask(old);
}

TEST_F(shared_tables, rows_keep_the_table) {
  row_array r;
  {
    shared_table t = make();
    r = t.rows();
  }
  EXPECT_TRUE(fs::exists(file_));
  EXPECT_EQ(static_cast<std::uint32_t const*>(r.data)[32'999], word(32'999));
  r = {};
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(shared_tables, of_raw_bytes_and_of_no_rows) {
  {
    shared_table t = shared_table::create(name_, 5);
    static_cast<char*>(t.data())[4] = 'x';
    EXPECT_EQ(t.rows().rows, 1u);
    EXPECT_EQ(t.rows().width, 5u);
    EXPECT_EQ(t.rows().kind, element::u8);
  }
  shared_table t = shared_table::create(name_, 0, 64, element::f16);
  t.publish();
  EXPECT_EQ(shared_table::attach(name_).rows().rows, 0u);
  EXPECT_EQ(t.bytes(), 0u);
}

TEST_F(shared_tables, several_processes_read_and_the_last_unlinks) {
  auto t = std::make_unique<shared_table>(make());
  child a("attach", name_), b("attach", name_), c("read", name_);
  EXPECT_EQ(a.hears(), 'a');
  EXPECT_EQ(b.hears(), 'a');
  EXPECT_EQ(c.hears(), 'a');
  EXPECT_EQ(a.end(), 0);
  EXPECT_TRUE(fs::exists(file_));
  t.reset();  // the creator leaves first
  EXPECT_TRUE(fs::exists(file_));
  {
    child late("attach", name_);
    EXPECT_EQ(late.hears(), 'a');
  }
  EXPECT_EQ(c.end(SIGKILL), 128 + SIGKILL);  // while it was reading
  EXPECT_TRUE(fs::exists(file_));
  EXPECT_TRUE(holds_words(shared_table::attach(name_)));
  EXPECT_EQ(b.end(), 0);
  EXPECT_FALSE(fs::exists(file_)) << "the last that left is not the creator, and one was killed";
}

TEST_F(shared_tables, the_killed_one_does_not_keep_it) {
  {
    shared_table const t = make();
    child c("read", name_);
    EXPECT_EQ(c.hears(), 'a');
    c.end(SIGKILL);
  }
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(shared_tables, a_stale_one_is_said_and_replaced_when_asked) {
  leave_stale();
  errc code{};
  for (bool create : {true, false}) {
    std::string const text = error_of([&] { create ? make() : shared_table::attach(name_); }, &code);
    EXPECT_EQ(code, errc::io);
    for (std::string const& word :
         {file_.string(), std::string("stale"), std::string("136.0 KiB"), std::string("seconds ago"), std::string("replace_stale")})
      EXPECT_NE(text.find(word), std::string::npos) << text << " lacks " << word;
  }
  {
    shared_table t = shared_table::create(name_, 10, 4, element::i8, {.replace_stale = true});
    t.publish();
    EXPECT_EQ(shared_table::attach(name_).bytes(), 40u);
  }
}

TEST_F(shared_tables, one_that_is_held_is_not_replaced) {
  shared_table const t = make();
  for (bool replace : {false, true}) {
    errc code{};
    std::string const text = error_of([&] { shared_table::create(name_, 10, 4, element::i8, {.replace_stale = replace}); }, &code);
    EXPECT_EQ(code, errc::usage);
    EXPECT_NE(text.find("is held by this process"), std::string::npos) << text;
    EXPECT_NE(text.find("attach"), std::string::npos) << text;
  }
  EXPECT_TRUE(holds_words(shared_table::attach(name_)));
}

TEST_F(shared_tables, one_that_another_process_holds_is_said_to_be_of_others) {
  child other("create", name_);
  ASSERT_EQ(other.hears(), 'c');
  std::string const text = error_of([&] { shared_table::create(name_, 10, 4, element::i8); });
  EXPECT_NE(text.find("is held by other processes"), std::string::npos) << text;
  other.end();
}

TEST_F(shared_tables, a_wait_that_is_no_time_is_refused) {
  shared_table const t = make();
  for (double seconds : {std::numeric_limits<double>::quiet_NaN(), -1.0}) {
    errc code{};
    std::string const text = error_of([&] { shared_table::attach(name_, {.timeout_seconds = seconds}); }, &code);
    EXPECT_EQ(code, errc::usage);
    EXPECT_NE(text.find("use seconds, 0 or more"), std::string::npos) << text;
  }
}

TEST_F(shared_tables, who_attaches_waits_until_it_is_filled) {
  child maker("start", name_);
  ASSERT_EQ(maker.hears(), 'c');
  errc code{};
  std::string const text = error_of([&] { shared_table::attach(name_, {.timeout_seconds = 0.05}); }, &code);
  EXPECT_EQ(code, errc::io);
  EXPECT_NE(text.find("has not filled"), std::string::npos) << text;
  child waits("attach", name_);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  maker.go();
  EXPECT_EQ(maker.hears(), 'f');
  EXPECT_EQ(waits.hears(), 'a');
  EXPECT_EQ(maker.end(), 0);
  EXPECT_EQ(waits.end(), 0);
}

TEST_F(shared_tables, who_waits_hears_that_the_creator_died) {
  child maker("start", name_);
  ASSERT_EQ(maker.hears(), 'c');
  child waits("attach", name_);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  maker.end(SIGKILL);
  EXPECT_EQ(waits.hears(), static_cast<char>('0' + static_cast<int>(errc::io)));
  EXPECT_EQ(waits.end(), 4);
  shared_table const t = shared_table::create(name_, 1, 1, element::i8, {.replace_stale = true});
}

TEST_F(shared_tables, a_header_that_lies_is_refused) {
  shared_table const t = make();
  struct {
    std::function<void(shared_header&)> change;
    bool sum;
    char const* said;
  } const lies[] = {
      {[](auto& h) { h.magic ^= 1; }, true, "does not begin"},    {[](auto& h) { h.version = 9; }, true, "version 9"},
      {[](auto& h) { h.rows = 999; }, false, "checksum"},         {[](auto& h) { h.kind = 6; }, true, "kind 6"},
      {[](auto& h) { h.rows = 999; }, true, "999 rows"},          {[](auto& h) { h.rows = ~0ull; }, true, "rows of"},
      {[](auto& h) { h.header_bytes = 0; }, true, "header of 0"}, {[](auto& h) { h.rows = 2000, h.bytes = 264'000; }, true, "264000"},
      {[](auto& h) { h.width = 0; }, true, "0 elements"}};
  for (auto const& lie : lies) {
    shared_header kept;
    change_header([&](shared_header& h) { kept = h, lie.change(h); }, lie.sum);
    errc code{};
    std::string const text = error_of([&] { shared_table::attach(name_); }, &code);
    EXPECT_EQ(code, errc::input) << text;
    EXPECT_NE(text.find(lie.said), std::string::npos) << text;
    change_header([&](shared_header& h) { h = kept; });
  }
  EXPECT_TRUE(holds_words(shared_table::attach(name_)));
}

TEST_F(shared_tables, one_that_was_cut_is_refused) {
  shared_table const t = make();
  for (std::uint64_t keep : {100'000, 4096, 40, 0}) {
    fs::resize_file(file_, keep);
    errc code{};
    error_of([&] { shared_table::attach(name_); }, &code);
    EXPECT_EQ(code, errc::input) << keep;
  }
}

TEST_F(shared_tables, names_and_files_that_are_none_are_refused) {
  for (std::string const& bad : {std::string(""), std::string("a/b"), std::string("../x"), std::string("a b"), std::string("a\n"),
                                 std::string("\xc3\xa4"), std::string(201, 'x'), std::string("a\0b", 3)}) {
    errc code{};
    error_of([&] { shared_file(bad); }, &code);
    EXPECT_EQ(code, errc::usage) << bad;
  }
  EXPECT_EQ(shared_file("Az09-_."), "/dev/shm/garner-" + std::to_string(::geteuid()) + "-Az09-_.");
  errc code{};
  EXPECT_NE(error_of([&] { shared_table::attach(name_); }, &code).find("not found"), std::string::npos);
  EXPECT_EQ(code, errc::io);
  fs::create_symlink("/etc/hostname", file_);
  error_of([&] { shared_table::attach(name_); }, &code);
  EXPECT_EQ(code, errc::io);
  fs::remove(file_);
  std::ofstream(file_) << "others may read this";
  fs::permissions(file_, fs::perms(0644));
  EXPECT_NE(error_of([&] { shared_table::attach(name_); }, &code).find("644"), std::string::npos);
  fs::remove(file_);
}

TEST_F(shared_tables, more_than_there_is_is_refused_and_leaves_nothing) {
  errc code{};
  for (auto [rows, width] : {std::pair<std::uint64_t, std::uint64_t>{~0ull, 2}, {1ull << 40, 1ull << 8}, {1ull << 33, 1ull << 33}}) {
    std::string const text = error_of([&, r = rows, w = width] { shared_table::create(name_, r, w, element::f32); }, &code);
    EXPECT_EQ(code, errc::memory) << text;
  }
  std::uint64_t const limit = host_budget().limit();
  host_budget().set_limit(host_budget().used() + 4095);
  EXPECT_NE(error_of([&] { shared_table::create(name_, 100); }, &code).find("raise the host budget"), std::string::npos);
  EXPECT_EQ(code, errc::memory);
  host_budget().set_limit(limit);
}

TEST_F(shared_tables, only_its_creator_writes) {
  shared_table const t = make();
  shared_table other = shared_table::attach(name_);
  errc code{};
  error_of([&] { other.data(); }, &code);
  EXPECT_EQ(code, errc::usage);
  error_of([&] { other.publish(); }, &code);
  EXPECT_EQ(code, errc::usage);
}

TEST_F(shared_tables, a_child_by_fork_does_not_let_go_of_it) {
  auto t = std::make_unique<shared_table>(make());
  ::pid_t const pid = ::fork();
  if (pid == 0) {
    t.reset();
    ::_exit(fs::exists(file_) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  child c("attach", name_);
  EXPECT_EQ(c.hears(), 'a') << "the parent's hold still counts";
}

TEST_F(shared_tables, many_leave_at_once) {
  for (int round = 0; round < 8; ++round) {
    auto t = std::make_unique<shared_table>(make());
    child a("attach", name_), b("attach", name_);
    ASSERT_EQ(a.hears(), 'a');
    ASSERT_EQ(b.hears(), 'a');
    a.go();
    b.go();
    t.reset();
    EXPECT_EQ(a.end(), 0);
    EXPECT_EQ(b.end(), 0);
    ASSERT_FALSE(fs::exists(file_)) << round;
  }
}

TEST_F(shared_tables, before_a_process_ends_all_that_it_holds_is_left) {
  shared_table const t = make();
  child other("attach", name_);
  ASSERT_EQ(other.hears(), 'a');
  shared_table::leave_all();
  EXPECT_TRUE(fs::exists(file_)) << "the other process holds it";
  EXPECT_TRUE(holds_words(t));
  other.go();
  EXPECT_EQ(other.end(), 0);
  EXPECT_FALSE(fs::exists(file_));
  EXPECT_TRUE(holds_words(t));
}

TEST_F(shared_tables, a_graph_lies_in_one_and_keeps_it) {
  generate_options how;
  how.scale = 8, how.build.random_weights = build_options::weight_options{};
  auto const original = generate_graph(how);
  {
    shared_table t = shared_table::create(name_, shared_bytes(original));
    write_shared(original, t.data());
    t.publish();
  }
  EXPECT_FALSE(fs::exists(file_));
  shared_table made = shared_table::create(name_, shared_bytes(original));
  write_shared(original, made.data());
  made.publish();
  graph_handle seen = [&] {
    auto const owner = std::make_shared<shared_table>(shared_table::attach(name_));
    return open_shared(owner, owner->rows().data, owner->bytes());
  }();
  EXPECT_EQ(digest_of(seen), digest_of(original));
  EXPECT_EQ(seen.info().edges, original.info().edges);
  std::uint64_t const used = host_budget().used();
  graph_handle const reversed = make_in_edges(to_device(std::move(seen), {}));  // stays in place
  EXPECT_EQ(host_budget().used(), used);
  EXPECT_EQ(digest_of(reversed), digest_of(original));

  errc code{};
  std::vector<char> none(8192);
  std::string const said = error_of([&] { open_shared({}, none.data(), none.size()); }, &code);
  EXPECT_EQ(code, errc::input) << said;
  error_of([&] { open_shared({}, made.rows().data, made.bytes() - 4096); }, &code);
  EXPECT_EQ(code, errc::input);
}

TEST_F(shared_tables, of_many_that_create_one_wins) {
  child a("create", name_), b("create", name_), c("create", name_);
  std::string heard{a.hears(), b.hears(), c.hears()};
  std::sort(heard.begin(), heard.end());
  EXPECT_EQ(heard, "00c");  // errc::usage: it is in use
  EXPECT_TRUE(holds_words(shared_table::attach(name_)));
  for (child* each : {&a, &b, &c}) each->end();
}

TEST_F(shared_tables, on_a_device_is_pinned_by_each_process) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  shared_table t = make();
  shared_table other = shared_table::attach(name_);
  for (shared_table* each : {&t, &other}) {
    void const* const seen = each->map_for(0);
    EXPECT_EQ(each->map_for(0), seen);
    EXPECT_EQ(mapping_of(each->rows().data).writable, each->created_here());
    executor x({device_kind::cuda, 0});
    buffer<std::uint32_t> near(tier::device, 33'000, 0, "a test");
    x.copy(near.data(), seen, 132'000);
    auto const back = testing::host_copy(x, near.data(), 33'000);
    for (std::uint64_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], word(i));
  }
}

TEST_F(shared_tables, without_a_gpu_cannot_be_mapped_for_one) {
  if (device::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  shared_table t = make();
  errc code{};
  error_of([&] { t.map_for(0); }, &code);
  EXPECT_EQ(code, errc::device);
}

}  // namespace
}  // namespace garner
