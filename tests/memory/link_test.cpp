// Link calibration: what is kept comes back, what is broken counts as absent; on a GPU the figures must make sense.
#include "memory/link.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "core/device.hpp"
#include "garner/memory.hpp"
#include "support.hpp"

namespace garner {
namespace {

class link_cache : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("garner_link_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    for (char const* name : {"XDG_CACHE_HOME", "HOME"}) {
      char const* const value = std::getenv(name);
      kept_.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
    }
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  void TearDown() override {
    for (auto const& [name, value] : kept_) value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    std::filesystem::remove_all(folder_);
  }
  static link_calibration sample() {
    link_calibration l;
    l.device = "Some GPU";
    l.pci = "0000:01:00";
    l.driver = 13000;
    l.to_device_gbs = 55.4;
    l.to_host_gbs = 55.1;
    l.zero_copy_gbs = 50.8;
    l.line_requests = 0.397;
    l.sector_requests = 0.75;
    l.saturating_sms = 12;
    l.paged_gbs = 8.25;
    l.random_rows = {{128, std::uint64_t{1} << 30, 14.0}, {4096, std::uint64_t{16} << 30, 51.0}};
    return l;
  }
  static std::string text_of(std::filesystem::path const& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(std::filesystem::path const& file, std::string const& text) { std::ofstream(file) << text; }
  std::filesystem::path folder_;
  std::vector<std::pair<std::string, std::optional<std::string>>> kept_;
};

void expect_same(link_calibration const& a, link_calibration const& b) {
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.pci, b.pci);
  EXPECT_EQ(a.driver, b.driver);
  EXPECT_EQ(a.to_device_gbs, b.to_device_gbs);
  EXPECT_EQ(a.to_host_gbs, b.to_host_gbs);
  EXPECT_EQ(a.zero_copy_gbs, b.zero_copy_gbs);
  EXPECT_EQ(a.line_requests, b.line_requests);
  EXPECT_EQ(a.sector_requests, b.sector_requests);
  EXPECT_EQ(a.saturating_sms, b.saturating_sms);
  EXPECT_EQ(a.paged_gbs, b.paged_gbs);
  ASSERT_EQ(a.random_rows.size(), b.random_rows.size());
  for (std::size_t i = 0; i < a.random_rows.size(); ++i) {
    EXPECT_EQ(a.random_rows[i].row_bytes, b.random_rows[i].row_bytes);
    EXPECT_EQ(a.random_rows[i].table_bytes, b.random_rows[i].table_bytes);
    EXPECT_EQ(a.random_rows[i].gbs, b.random_rows[i].gbs);
  }
}

TEST_F(link_cache, lies_in_the_users_cache_folder_under_a_harmless_name) {
  EXPECT_EQ(link_cache_file("0000:01:00", "NVIDIA H200"), folder_ / "garner" / "link-0000_01_00-NVIDIA_H200.json");
  EXPECT_EQ(link_cache_file("a", "../../x").parent_path(), folder_ / "garner");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "/somewhere", 1);
  EXPECT_EQ(link_cache_file("a", "b"), "/somewhere/.cache/garner/link-a-b.json");
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  EXPECT_TRUE(link_cache_file("a", "b").empty());
}

TEST_F(link_cache, comes_back_as_it_was_saved) {
  auto file = link_cache_file("p", "d");
  for (bool paged : {true, false}) {
    link_calibration l = sample();
    if (!paged) l.paged_gbs.reset();
    save_link(l, file);  // makes the folder, replaces the file
    auto const back = load_link(file);
    ASSERT_TRUE(back);
    expect_same(*back, l);
  }
}

TEST_F(link_cache, what_is_absent_broken_or_of_another_version_is_ignored) {
  auto const file = link_cache_file("p", "d");
  EXPECT_FALSE(load_link(file));
  EXPECT_FALSE(load_link({}));
  save_link(sample(), file);
  std::string const good = text_of(file);
  ASSERT_TRUE(load_link(file));
  for (std::size_t keep = 0; keep + 2 < good.size(); keep += 7) {  // cut anywhere before its last brace
    write(file, good.substr(0, keep));
    EXPECT_FALSE(load_link(file)) << keep;
  }
  for (char const* text : {"", "null", "[]", "{}", "17", "\"x\"", "{\"version\": 2}", "\xff\xfe"}) {
    write(file, text);
    EXPECT_FALSE(load_link(file)) << text;
  }
  auto const with = [&](std::string const& from, std::string const& to) {
    std::string text = good;
    std::size_t const at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    write(file, text.replace(at, from.size(), to));
    return load_link(file).has_value();
  };
  EXPECT_FALSE(with("\"version\": 2", "\"version\": 3"));
  EXPECT_FALSE(with("\"version\": 2", "\"version\": \"2\""));
  EXPECT_FALSE(with("\"device\": \"Some GPU\"", "\"device\": 5"));
  EXPECT_FALSE(with("\"zero_copy_gbs\": 50.8", "\"zero_copy_gbs\": 0"));
  EXPECT_FALSE(with("\"zero_copy_gbs\": 50.8", "\"zero_copy_gbs\": -1"));
  EXPECT_FALSE(with("\"to_device_gbs\": 55.4", "\"to_device_gbs\": null"));
  EXPECT_FALSE(with("\"row_bytes\": 128", "\"row_bytes\": []"));
  EXPECT_TRUE(with("55.4", "55.5"));
}

TEST_F(link_cache, a_folder_that_cannot_be_made_is_said) {
  write(folder_, "a file where the folder should be");
  errc code{};
  std::string const text = testing::error_of([&] { save_link(sample(), link_cache_file("p", "d")); }, &code);
  EXPECT_EQ(code, errc::io) << text;
  EXPECT_NE(text.find(folder_.string()), std::string::npos) << text;
}

TEST(link, the_host_copies_at_some_rate) {
  double const gbs = host_copy_gbs();
  EXPECT_GT(gbs, 0.1);
  EXPECT_LT(gbs, 10'000);
}

TEST(link, without_a_gpu_there_is_no_link) {
  if (device::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  for (auto const& f : {std::function<void()>([] { link_of(0); }), std::function<void()>([] { known_link(0); }),
                        std::function<void()>([] { self_test(0); })}) {
    errc code{};
    testing::error_of(f, &code);
    EXPECT_EQ(code, errc::device);
  }
}

TEST_F(link_cache, of_a_device_is_measured_once_and_kept) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  self_test(0);
  EXPECT_FALSE(known_link(0));
  link_calibration const l = link_of(0);
  EXPECT_GT(l.to_device_gbs, 1);
  EXPECT_GT(l.to_host_gbs, 1);
  EXPECT_GT(l.zero_copy_gbs, 0.4 * l.to_device_gbs);
  EXPECT_LT(l.zero_copy_gbs, 1.2 * l.to_device_gbs);  // else something was cached
  EXPECT_GT(l.sector_requests, 0.3 * l.line_requests);
  EXPECT_GE(l.saturating_sms, 1);
  EXPECT_LE(l.saturating_sms, device::describe(0).multiprocessors);
  EXPECT_GE(l.random_rows.size(), 4u);
  for (row_rate const& r : l.random_rows) EXPECT_LT(r.gbs, 1.2 * l.to_device_gbs) << r.row_bytes;
  auto const kept = load_link(link_cache_file(l.pci, l.device));
  ASSERT_TRUE(kept);
  expect_same(*kept, l);
  ASSERT_TRUE(known_link(0));
  expect_same(link_of(0), l);  // not measured again
}

}  // namespace
}  // namespace garner
