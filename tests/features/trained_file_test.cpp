// Trainable rows in a file: the same bits as a table in memory, whatever the cache holds; old or new on a crash; rejected files.
#include "features/trained_file.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <random>

#include "child.hpp"
#include "core/fail.hpp"
#include "features/file_tables.hpp"
#include "garner/embedding.hpp"
#include "memory/budget.hpp"
#include "refused.hpp"
#include "storage/file_changes.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

constexpr std::uint64_t rows = 200, width = 13;

std::vector<float> all_of(embedding const& e, std::string const& what = "weight") {
  std::vector<float> values(e.rows() * e.width());
  e.read(what, 0, e.rows(), values);
  return values;
}
void expect_same(embedding const& a, embedding const& b) {
  EXPECT_EQ(all_of(a), all_of(b));
  for (std::string const& s : a.states()) EXPECT_EQ(all_of(a, s), all_of(b, s)) << s;
  EXPECT_EQ(a.steps(), b.steps());
}

class trained_file_test : public at_place {
 protected:
  embedding_options options(row_optimizer how, element kind = element::f32) const {
    embedding_options o;
    o.device = where(), o.optimizer = how, o.kind = kind, o.seed = 7;
    return o;
  }
  // In `file`, with so many rows in host memory.
  embedding in_file(std::string const& file, std::uint64_t cached, embedding_options o) const {
    o.host_cache = cached * embedding(1, width, o).record_bytes();
    o.file = file;
    return {rows, width, o};
  }
  void step(embedding& e, std::uint32_t seed, std::size_t n = 60) const {
    executor x(where());
    std::mt19937 from(seed);
    std::normal_distribution<float> normal;
    std::vector<std::int64_t> ids(n);
    std::vector<float> gradients(n * width);
    for (auto& id : ids) id = static_cast<std::int64_t>(from() % 3 ? from() % rows : from() % 5);
    for (float& g : gradients) g = normal(from);
    auto const near_ids = near_copy(x, ids);
    auto const near_gradients = near_copy(x, gradients);
    e.update(std::span<std::int64_t const>(near_ids.data(), n), {near_gradients.data(), gradients.size()});
  }
  std::vector<char> gathered(embedding& e, std::vector<std::int64_t> const& ids) const {
    executor x(where());
    auto const near_ids = near_copy(x, ids);
    buffer<char> out(x.near(), ids.size() * width * bytes_of(e.kind()), x.device(), "a test");
    e.gather(std::span<std::int64_t const>(near_ids.data(), ids.size()), row_output(out.data(), out.bytes()));
    return host_copy(x, out.data(), out.size());
  }
};
GARNER_AT_EVERY_PLACE(trained_file_test);

TEST_P(trained_file_test, holds_the_bits_of_a_table_in_memory_whatever_is_cached) {
  a_folder const folder;
  std::vector<std::int64_t> every(rows);
  for (std::uint64_t k = 0; k < rows; ++k) every[k] = static_cast<std::int64_t>((k * 37 + 11) % rows);
  for (element const kind : {element::f32, element::bf16})
    for (row_optimizer const how : {row_optimizer::sgd, row_optimizer::adagrad, row_optimizer::adam})
      for (std::uint64_t const cached : {60, 1000}) {
        std::string const file = folder.at("rows.gne").string();
        embedding_options const o = options(how, kind);
        embedding memory(rows, width, o);
        for (int opened = 0; opened < 2; ++opened) {
          embedding e = in_file(file, cached, o);
          EXPECT_EQ(e.tiers()[tier::file], rows - std::min(cached, rows));
          expect_same(e, memory);
          for (std::uint32_t k = 0; k < 5; ++k) {
            step(e, 10 * k + static_cast<std::uint32_t>(opened)), step(memory, 10 * k + static_cast<std::uint32_t>(opened));
            EXPECT_EQ(gathered(e, every), gathered(memory, every));
            if (k == 2) e.flush();
          }
          expect_same(e, memory);
          std::vector<float> const some(3 * width, 0.5f);
          for (embedding* const to : {&e, &memory}) to->write("weight", 100, 3, some);
          expect_same(e, memory);
        }
        // Another table of the same kind goes on from what is saved of it.
        {
          embedding const e = in_file(file, cached, o);
          e.save(folder.at("rows.safetensors").string());
        }
        embedding again = in_file(folder.at("again.gne").string(), cached, o);
        again.load(folder.at("rows.safetensors").string());
        step(again, 1), step(memory, 1);
        expect_same(again, memory);
        std::filesystem::remove(file), std::filesystem::remove(folder.at("again.gne").string());
        EXPECT_FALSE(std::filesystem::exists(journal_of(file)));
      }
}

TEST_P(trained_file_test, says_what_is_wrong_and_loses_nothing) {
  a_folder const folder;
  std::string const file = folder.at("rows.gne").string();
  embedding_options const o = options(row_optimizer::adam);
  {
    embedding e = in_file(file, 50, o);
    step(e, 1, 40);
    auto const before = all_of(e);
    EXPECT_TRUE(refused(errc::usage, "the host cache has room for 50", [&] { step(e, 2, 190); }));
    EXPECT_EQ(all_of(e), before);
    EXPECT_THROW(gathered(e, {3, 200}), id_error);
    executor x(where());
    auto const ids = near_copy(x, std::vector<std::int64_t>{199, 7});
    std::vector<float> bad(2 * width, 1.0f);
    bad[width + 2] = std::nanf("");
    auto const gradients = near_copy(x, bad);
    EXPECT_TRUE(refused(errc::input, "the gradient of row 7 is not a finite number", [&] {
      e.update(std::span<std::int64_t const>(ids.data(), 2), {gradients.data(), 2 * width});
    }));
    EXPECT_EQ(all_of(e), before);
    EXPECT_TRUE(refused(errc::io, "another table has it open", [&] { in_file(file, 50, o); }));
  }
  EXPECT_TRUE(refused(errc::input,
                      "holds 200 rows of 13 f32, stepped by adam, and the table is to have 200 rows of 13 f16, stepped by adam",
                      [&] { in_file(file, 50, options(row_optimizer::adam, element::f16)); }));
  EXPECT_TRUE(refused(errc::usage, "use more", [&] { in_file(file, 0, o); }));
  embedding_options with = o;
  with.feature_cache = 1000;
  EXPECT_TRUE(refused(errc::usage, "without feature_cache", [&] { in_file(file, 50, with); }));
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_TRUE(refused(errc::input, "is damaged or cut", [&] { in_file(file, 50, o); }));
  std::ofstream(file) << "something else";
  EXPECT_TRUE(refused(errc::input, "", [&] { in_file(file, 50, o); }));
  EXPECT_TRUE(refused(errc::io, "", [&] { in_file(folder.at("none/rows.gne").string(), 50, o); }));
}

// Without a size of its own the cache is within the limit of memory.
TEST_P(trained_file_test, a_limit_of_memory_bounds_the_cache) {
  a_folder const folder;
  embedding_options o = options(row_optimizer::sgd);
  std::uint64_t const record = embedding(1, 64, o).record_bytes();
  o.file = folder.at("rows.gne");
  embedding(20000, 64, o);
  budget& host = host_budget();
  std::uint64_t const limit = host.limit();
  host.set_limit(host.used() + (2u << 20));
  {
    embedding const e(20000, 64, o);
    EXPECT_LE(e.tiers()[tier::host], (1u << 20) / record);
    EXPECT_GT(e.tiers()[tier::host], (1u << 19) / record);
  }
  host.set_limit(limit);
}

// A file may not grow beyond a limit, as on a full disk: the flush fails, and goes on once there is room.
TEST_P(trained_file_test, a_flush_without_room_can_be_tried_again) {
  a_folder const folder;
  embedding_options const o = options(row_optimizer::adam);
  embedding memory(rows, width, o);
  embedding e = in_file(folder.at("rows.gne").string(), 60, o);
  step(e, 1), step(memory, 1);
  struct ::rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  struct ::rlimit const small{4000, before.rlim_max};
  auto* const old = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_TRUE(refused(errc::io, "writing failed", [&] { e.flush(); }));
  EXPECT_TRUE(refused(errc::io, "writing failed", [&] { in_file(folder.at("other.gne").string(), 60, o); }));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old);
  EXPECT_FALSE(std::filesystem::exists(folder.at("other.gne").string()));
  step(e, 2), step(memory, 2);
  e.flush();
  expect_same(e, memory);
}

embedding of_crash(std::string const& file) {
  embedding_options o;
  o.device = {device_kind::cpu, 0}, o.seed = 7;
  o.host_cache = 9 * embedding(1, width, o).record_bytes();
  o.file = file;
  return {rows, width, o};
}
void step_of_crash(embedding& e, std::int64_t first) {
  std::vector<std::int64_t> const ids{first, first + 4, first + 100};
  e.update(std::span(ids), std::vector<float>(3 * width, 0.25f));
}

TEST(trained_file, DISABLED_and_dies) {
  static int left;
  left = std::atoi(std::getenv("GARNER_TEST_STEP"));
  embedding e = of_crash(std::getenv("GARNER_TEST_FILE"));
  for (std::int64_t k = 2; k < 8; ++k) step_of_crash(e, k);
  between_changes = [] {
    if (left-- == 0) ::_exit(3);
  };
  e.flush();
  tell('e');
  ::_exit(0);
}

TEST(trained_file, holds_the_last_flush_or_the_new_one_after_a_crash_between_any_two_writes) {
  a_folder const folder;
  std::vector<float> old_rows, new_rows;
  {
    embedding e = of_crash(folder.at("twin.gne").string());
    step_of_crash(e, 1);
    old_rows = all_of(e, "exp_avg");
    for (std::int64_t k = 2; k < 8; ++k) step_of_crash(e, k);
    new_rows = all_of(e, "exp_avg");
  }
  bool ended = false, new_before = false;
  for (int step = 0; !ended; ++step) {
    ASSERT_LT(step, 100);
    std::string const file = folder.at(fmt::format("{}.gne", step)).string();
    {
      embedding e = of_crash(file);
      step_of_crash(e, 1);
    }
    {
      child c("trained_file.DISABLED_and_dies", {"GARNER_TEST_FILE=" + file, "GARNER_TEST_STEP=" + std::to_string(step)});
      ended = c.hears() == 'e';
    }
    embedding const e = of_crash(file);
    auto const found = all_of(e, "exp_avg");
    bool const is_new = found == new_rows;
    EXPECT_TRUE(is_new || found == old_rows) << step;
    EXPECT_EQ(e.steps(), is_new ? 7u : 1u);
    EXPECT_TRUE(is_new || !new_before);
    new_before = is_new;
    EXPECT_FALSE(std::filesystem::exists(journal_of(file)));
  }
  EXPECT_TRUE(new_before);
}

TEST(trained_file, a_journal_of_another_table_is_refused) {
  a_folder const folder;
  std::string const file = folder.at("rows.gne").string();
  of_crash(file);
  std::ofstream(journal_of(file)) << std::string(500, 'x');
  embedding_options other;
  other.device = {device_kind::cpu, 0}, other.file = file, other.host_cache = 1u << 20, other.kind = element::f16;
  EXPECT_TRUE(refused(errc::input, "and the table is to have", [&] { embedding(rows, width, other); }));
  EXPECT_TRUE(refused(errc::input, "is the journal of rows that were learned, and is damaged", [&] { of_crash(file); }));
}

}  // namespace
}  // namespace garner::testing
