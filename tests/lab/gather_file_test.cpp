// The file of `garner-lab gather benchmark: what it measures, and every figure of its page; the concurrent arithmetic kernel restores its
// numbers.
#include "lab/gather.hpp"

#include "cli/command/arithmetic.hpp"
#include "lab/page.hpp"
#include "lab/sample.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

using namespace lab;
using namespace cli;

gather_bench_options small_options(execution_device where, std::vector<std::string> figures) {
  gather_bench_options o;
  o.where = where;
  o.table_bytes = 1 << 20;
  o.ids = {50, 100};
  o.trials = 1;
  o.figures = std::move(figures);
  o.command = "garner-lab gather <small>";
  return o;
}
// As written on a device.
gather_file whole_file() {
  gather_file f = measure_gathers(small_options({}, {"unaligned", "sizes", "orders", "dense", "duplicates", "convert", "beside", "copies"}),
                                  [](gather_row const&) {});
  f.place = "device 0", f.device = "a \"GPU\"", f.link_gbs = 51.1;
  for (gather_row& asked : f.rows)
    if (asked.label.ends_with(", automatic")) asked.duplicates = "once";
  gather_row r;
  r.row_bytes = 4096, r.ids = 100, r.strategy = "aligned", r.order = "none", r.ms = 2, r.gbs = 46.5, r.rows_a_second = 1e6, r.of_link = 0.9;
  for (unsigned sms : {1u, 8u, 132u})
    r.figure = "share", r.label = "a share", r.multiprocessors = sms, r.load_bytes = 16, f.rows.push_back(r);
  r.figure = "near", r.label = "64 B, of another device", f.rows.push_back(r);
  r.figure = "beside", r.label = "partition, 4096 B aligned", r.multiprocessors = 8;
  r.beside = gather_beside{"partition", 124, 49.25, 10, 10.5, 10.71};
  f.rows.push_back(r);
  return f;
}

TEST(gather_file, page_shows_every_figure) {
  std::string const page = page_of({.gathers = {{"g.json", whole_file()}}});
  expect_all(page, {"<title>Garner: gathers of rows",
                    "(figure 3.10)",
                    "Rows of 128 B to 8 KiB",
                    "Rows of 8 KiB to 512 KiB",
                    "Order and density",
                    "copy engine of 4",
                    "100 sorted rows of 1,024 B: ",
                    "Rows of 512 B of eight",
                    "Ids that repeat",
                    "2408 B, each twice",
                    "Rows of 2,408 B that are each requested twice: ",
                    "(figure 3.12, 3.13)",
                    "Arithmetic during a gather",
                    "8 + 124",
                    "7.10 %",
                    "2.00 %",
                    "of another device",
                    "what the link carries: 51.1 GB/s",
                    "Not measured, so not shown",
                    "use --device cuda",
                    "&lt;small&gt;",
                    "versus one memcpy per row",
                    "2408 B, gathered",
                    "the arithmetic takes 7.10 % longer"});
  EXPECT_EQ(page.find("<small>"), std::string::npos);
  EXPECT_NE(page.find("% of the link"), std::string::npos);
  EXPECT_EQ(page.find("% of one copy per row"), std::string::npos);
  // On the CPU each position is a read in any mode, and a share is one of copies.
  gather_file host = whole_file();
  host.link_gbs.reset();
  for (gather_row& r : host.rows)
    if (!r.duplicates.empty()) r.duplicates = "repeat";
  std::string const at_host = page_of({.gathers = {{"g.json", host}}});
  EXPECT_EQ(at_host.find("that are each requested twice: "), std::string::npos);
  EXPECT_NE(at_host.find("% of one copy per row"), std::string::npos);
  EXPECT_EQ(at_host.find("% of the link"), std::string::npos);
  for (gather_row& r : host.rows)  // like an H200's older file without duplicates
    if (!std::exchange(r.duplicates, "").empty() && r.label.ends_with(", automatic")) r.order = "sorted";
  EXPECT_NE(page_of({.gathers = {{"g.json", host}}}).find("that are each requested twice: "), std::string::npos);
  gather_file none;
  EXPECT_NE(page_of({.gathers = {{"g.json", none}}}).find("</html>"), std::string::npos);
}

class arithmetic_at : public at_place {};
GARNER_AT_EVERY_PLACE(arithmetic_at);

TEST_P(arithmetic_at, ends_where_it_began) {
  executor x(where());
  auto const wrong = near_copy(x, std::vector<std::uint32_t>(1));
  for (std::uint32_t steps : {0u, 2u, 130u}) {
    reckon(x, 5000, steps, wrong.data());
    EXPECT_EQ(x.read(wrong.data()), 0u) << steps;
  }
  EXPECT_TRUE(refused(errc::internal, [&] { reckon(x, 1, 3, wrong.data()); }));
}

TEST(dense, both_ways_ask_for_the_same_rows_once) {
  gather_bench_options o = small_options({device_kind::simulated, 0}, {"dense"});
  o.ids = {50, 100, 100};  // a size listed twice is measured once
  gather_file const f = measure_gathers(o, [](gather_row const&) {});
  ASSERT_EQ(f.rows.size(), 12u);
  for (std::size_t k = 0; k < f.rows.size(); k += 2) {
    gather_row const &all = f.rows[k], &engine = f.rows[k + 1];
    EXPECT_EQ(all.skipped + engine.skipped, "");
    EXPECT_EQ(all.order + engine.order, "sortedsorted");
    EXPECT_EQ(all.strategy + engine.strategy, "alignedbulk");
    EXPECT_EQ(engine.multiprocessors, 4u);
    if (k < 10) EXPECT_EQ(all.requests, engine.requests) << all.label;
    else EXPECT_LE(engine.requests, all.requests);  // rows that are requested more than 127 times
    EXPECT_LT(engine.requests, engine.ids * engine.batches * engine.row_bytes / 128 + 1);
  }
  EXPECT_EQ(f.rows[0].label, "512 B, 50 ids, aligned");
  EXPECT_EQ(f.rows[7].label, "1024 B, 100 ids, bulk");
  EXPECT_EQ(f.rows[11].label, "512 B, 8 x 100 ids, repeated, bulk");
}

TEST(duplicates, are_fetched_once_in_every_order) {
  gather_bench_options o = small_options({device_kind::simulated, 0}, {"duplicates"});
  o.table_bytes = 16 << 20, o.ids = {300, 300};
  gather_file const f = measure_gathers(o, [](gather_row const&) {});
  ASSERT_EQ(f.rows.size(), 20u);
  for (gather_row const& r : f.rows) EXPECT_EQ(r.skipped, "") << r.label;
  for (std::size_t k = 0; k < 10; ++k) EXPECT_EQ(f.rows[k].row_bytes, 512u);
  EXPECT_EQ(f.rows[5].label, "512 B, each twice, automatic");
  EXPECT_EQ(f.rows[6].duplicates, "once");
  EXPECT_EQ(f.rows[9].duplicates, "repeat");
  EXPECT_EQ(f.rows[6].label, "512 B, each twice, none");
  EXPECT_EQ(f.rows[9].label, "512 B, each twice, each a read");
  for (std::size_t k = 6; k < 9; ++k) EXPECT_LE(f.rows[k].requests, 150u * 4) << f.rows[k].label;
  EXPECT_GT(f.rows[9].requests, 290u * 4);  // except for a few that are in flight together
}

TEST(copies, stand_beside_gathers_of_the_same_ids) {
  gather_file const f = measure_gathers(small_options({}, {"copies"}), [](gather_row const&) {});
  ASSERT_EQ(f.rows.size(), 12u);
  std::vector<std::uint64_t> sizes;
  for (std::size_t k = 0; k < f.rows.size(); k += 2) {
    gather_row const &copy = f.rows[k], &gather = f.rows[k + 1];
    sizes.push_back(gather.row_bytes);
    EXPECT_EQ(copy.strategy + gather.strategy, "copiesaligned");
    EXPECT_EQ(copy.row_bytes, gather.row_bytes);
    EXPECT_EQ(copy.ids, gather.ids);
    ASSERT_TRUE(copy.ms && gather.ms && gather.of_link && !copy.of_link);
    EXPECT_NEAR(*gather.of_link, *copy.ms / *gather.ms, 1e-9);  // from the same round
  }
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{128, 256, 512, 1024, 2408, 4096}));
  gather_file const simulated = measure_gathers(small_options({device_kind::simulated, 0}, {"copies"}), [](gather_row const&) {});
  ASSERT_EQ(simulated.rows.size(), 1u);
  EXPECT_NE(simulated.rows[0].skipped.find("--device cpu"), std::string::npos);
}

TEST(beside, without_a_device_is_left_out_and_says_so) {
  for (device_kind kind : {device_kind::cpu, device_kind::simulated}) {
    gather_file const f = measure_gathers(small_options({kind, 0}, {"share", "near", "beside"}), [](gather_row const&) {});
    ASSERT_EQ(f.rows.size(), 3u);
    for (gather_row const& r : f.rows) {
      EXPECT_NE(r.skipped.find("--device cuda"), std::string::npos) << r.skipped;
      EXPECT_FALSE(r.ms || r.beside);
    }
  }
}

TEST(beside, on_a_device_both_are_timed) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  gather_bench_options o = small_options({device_kind::cuda, 0}, {"beside"});
  o.table_bytes = 256ull << 20, o.ids = {10000, 1000000}, o.trials = 2;
  gather_file const f = measure_gathers(o, [](gather_row const&) {});
  std::size_t timed = 0;
  for (gather_row const& r : f.rows) {
    if (!r.skipped.empty()) {  // a driver may lack partitions, a device bulk copies; mps needs two processes
      EXPECT_TRUE(r.skipped.find("set apart") != std::string::npos || r.skipped.find("bulk copies") != std::string::npos ||
                  r.skipped.find("Multi-Process") != std::string::npos)
          << r.label << ": " << r.skipped;
      continue;
    }
    ASSERT_TRUE(r.beside && r.gbs) << r.label;
    EXPECT_GT(*r.gbs, 0);
    EXPECT_GE(r.multiprocessors, 8u);
    EXPECT_GT(r.beside->beside_ms, 0);
    EXPECT_LT(r.beside->slower(), 3) << r.label;
    ++timed;
  }
  EXPECT_GE(timed, 3u);  // on a grid, with strategy aligned
}

}  // namespace
}  // namespace garner::testing
