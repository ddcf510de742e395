// The strategy and order that a gather chooses: the model versus measurements on an H200 (docs/benchmarks/gather-h200.json), and cases in
// which the copy engine is excluded.
#include "features/choose.hpp"

#include <gmock/gmock.h>

#include "core/fail.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr, ::testing::Not;

gather_figures const shipped = gather_figures::shipped();

gather_question of_table(std::uint64_t ids, std::uint64_t row, std::uint64_t table_gib) {
  std::uint64_t const rows = (table_gib << 30) / row;
  return {{device_kind::cuda, 0}, ids, row, rows, rows, true, false, false};
}
gather_run ask(std::uint64_t ids, std::uint64_t row, std::uint64_t table_gib, gather_options const& o = {}) {
  return choose(of_table(ids, row, table_gib), o, shipped);
}
gather_options asking(gather_strategy strategy, gather_order order = gather_order::automatic, unsigned multiprocessors = 0) {
  gather_options o;
  o.strategy = strategy, o.order = order, o.multiprocessors = multiprocessors;
  return o;
}

TEST(choice_of_order, follows_the_figures_of_the_machine) {
  EXPECT_THAT(ask(300000, 512, 32).why, HasSubstr("512 B rows of a 32.0 GiB table: 300,000 sorted ids share some translations; sorted 2"));
  EXPECT_EQ(ask(300000, 512, 32).order, gather_order::sorted);
  EXPECT_EQ(ask(1000, 512, 32).order, gather_order::none);  // too few
  // No translations to share, within TLB reach or if the link is the bottleneck; but duplicates should cross once.
  for (auto const& [row, table] : {std::pair{512, 1}, {2048, 32}, {2408, 32}, {4096, 32}}) {
    gather_run const run = ask(300000, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(table));
    EXPECT_EQ(run.order, gather_order::sorted) << row;
    EXPECT_EQ(run.strategy, gather_strategy::aligned) << row;
    EXPECT_THAT(run.why, HasSubstr("few or need none of these translations, but what repeats crosses once for so short a sort; sorted "));
    gather_options o;
    o.duplicates = gather_duplicates::repeat;
    EXPECT_EQ(ask(300000, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(table), o).order, gather_order::none) << row;
  }
  // Several mini-batches share rows, for any table; a simulated device chooses like a device, and the CPU does not sort.
  auto const batched = [&](device_kind where) { return choose({{where, 0}, 3000, 512, 1000, 1000, true, true, false}, {}, shipped).order; };
  EXPECT_EQ(batched(device_kind::cuda), gather_order::sorted);
  EXPECT_EQ(batched(device_kind::simulated), gather_order::sorted);
  EXPECT_EQ(batched(device_kind::cpu), gather_order::none);
  EXPECT_EQ(choose({{device_kind::simulated, 0}, 300000, 512, 64u << 20, 64u << 20, true, false, false}, {}, shipped).order,
            gather_order::sorted);
  for (gather_order order : {gather_order::none, gather_order::sorted, gather_order::bucketed}) {
    EXPECT_EQ(ask(300000, 512, 32, asking(gather_strategy::naive, order)).order, order);
    EXPECT_EQ(ask(300000, 512, 32, asking(gather_strategy::naive, order)).strategy, gather_strategy::naive);
  }
  EXPECT_EQ(ask(300000, 512, 32, asking(gather_strategy::staged, gather_order::none)).order, gather_order::none);
  EXPECT_THAT(error_of([] { ask(300000, 512, 32, asking(gather_strategy::staged, gather_order::bucketed)); }),
              HasSubstr("a staged gather takes ids as they come"));
  EXPECT_EQ(ask(std::uint64_t{1} << 32, 512, 32).order, gather_order::none);  // too many to sort
}

TEST(choice_of_order, knows_from_scores_how_many_ids_are_far) {
  // A tenth of the rows cached: of uniform ids nine tenths are remote, and sorting pays.
  gather_question q{{device_kind::simulated, 0}, 300000, 512, 64u << 20, 60u << 20, false, false, false};
  EXPECT_EQ(choose(q, {}, shipped).order, gather_order::sorted);
  q.far_share = 0.09;  // by degree: 27,000, which share no translations
  EXPECT_EQ(choose(q, {}, shipped).order, gather_order::none);
  EXPECT_EQ(choose(q, {}, shipped).duplicates, gather_duplicates::repeat);
}

TEST(choice_of_duplicates, once_wherever_that_costs_little_and_in_every_order_that_is_named) {
  auto const asking_for = [](gather_duplicates d, gather_order order = gather_order::automatic) {
    gather_options o;
    o.duplicates = d, o.order = order;
    return o;
  };
  using enum gather_duplicates;
  EXPECT_EQ(ask(300000, 512, 32).duplicates, once);
  EXPECT_EQ(ask(300000, 512, 1).duplicates, once);
  // Between the cost limit of sorting and the smallest table: the hash table.
  EXPECT_EQ(ask(40000, 512, 1).order, gather_order::none);
  EXPECT_EQ(ask(40000, 512, 1).duplicates, repeat);
  EXPECT_EQ(ask(56000, 512, 1).order, gather_order::none);
  EXPECT_EQ(ask(56000, 512, 1).duplicates, once);
  EXPECT_THAT(ask(56000, 512, 1).why, HasSubstr("; ids that repeat are found by a hash table, so that their remote rows cross once; "));
  EXPECT_EQ(ask(1000, 512, 32).duplicates, repeat);
  EXPECT_THAT(ask(1000, 512, 32).why, HasSubstr("; an id that repeats is fetched again; "));
  EXPECT_EQ(ask(std::uint64_t{1} << 32, 512, 32).duplicates, repeat);  // too many to sort or to find
  for (gather_order order : {gather_order::none, gather_order::sorted, gather_order::bucketed}) {
    EXPECT_EQ(ask(10, 512, 1, asking(gather_strategy::bulk, order)).duplicates, once) << to_string(order);
    EXPECT_EQ(ask(300000, 512, 32, asking_for(repeat, order)).duplicates, repeat) << to_string(order);
    EXPECT_EQ(ask(300000, 512, 32, asking_for(repeat, order)).order, order);
  }
  EXPECT_EQ(ask(10, 512, 32, asking_for(once)).order, gather_order::none);  // the cheaper of the two
  EXPECT_EQ(ask(10, 512, 32, asking_for(once)).duplicates, once);
  EXPECT_EQ(ask(300000, 512, 1, asking_for(once)).order, gather_order::sorted);
  EXPECT_EQ(ask(300000, 512, 32, asking_for(repeat)).order, gather_order::sorted);  // for its translations
  gather_question q = of_table(300000, 512, 1);
  q.batched = true;
  EXPECT_EQ(choose(q, asking_for(repeat), shipped).order, gather_order::none);
  // No link traffic, so no deduplication.
  q = of_table(300000, 512, 32), q.far_rows = 0;
  EXPECT_EQ(choose(q, {}, shipped).duplicates, repeat);
  EXPECT_EQ(choose(q, asking(gather_strategy::naive, gather_order::bucketed), shipped).duplicates, repeat);
  EXPECT_THAT(choose(q, asking_for(once, gather_order::none), shipped).why, Not(HasSubstr("hash table")));
  q = of_table(300000, 512, 32), q.where.kind = device_kind::cpu;
  EXPECT_EQ(choose(q, {}, shipped).duplicates, repeat);
  EXPECT_EQ(choose(q, asking_for(once, gather_order::none), shipped).duplicates, once);
  EXPECT_EQ(ask(300000, 512, 32, asking(gather_strategy::staged)).duplicates, repeat);
  gather_options o = asking_for(once);
  o.strategy = gather_strategy::staged;
  EXPECT_EQ(error_of([&] { ask(300000, 512, 32, o); }),
            "a staged gather sends a row for each id; use duplicates repeat or another way than staged");
  EXPECT_EQ(parse_gather_duplicates("once"), once);
  EXPECT_EQ(error_of([] { parse_gather_duplicates("twice"); }),
            "'twice' is not a known treatment of duplicates; use one of automatic, once, repeat");
}

TEST(choice_of_duplicates, once_where_there_are_more_ids_than_far_rows) {
  // 300,000 ids of 500 rows: 19.2 MB with duplicates, 32 KB without.
  gather_question q{{device_kind::simulated, 0}, 300000, 64, 500, 500, false, false, false};
  gather_run run = choose(q, {}, shipped);
  EXPECT_EQ(run.duplicates, gather_duplicates::once);
  EXPECT_THAT(run.why, HasSubstr("300,000 sorted ids request some 500 rows, each of which crosses once; sorted "));
  gather_options o;
  o.duplicates = gather_duplicates::repeat;
  EXPECT_EQ(choose(q, o, shipped).duplicates, gather_duplicates::repeat);
  EXPECT_EQ(choose(q, o, shipped).order, gather_order::none);
  q.rows = q.far_rows = 300000;  // as many as ids, possibly all distinct
  EXPECT_EQ(choose(q, {}, shipped).duplicates, gather_duplicates::repeat);
  // Saving less time than the lookup costs.
  q.ids = 1000, q.rows = q.far_rows = 500;
  EXPECT_EQ(choose(q, {}, shipped).duplicates, gather_duplicates::repeat);
  // Between the cost limits of sorting and of looking up.
  q.ids = 20000, q.rows = q.far_rows = 50;
  EXPECT_EQ(choose(q, {}, shipped).order, gather_order::none);
  EXPECT_EQ(choose(q, {}, shipped).duplicates, gather_duplicates::once);
  q.rows = 5000, q.far_rows = 50;  // 200 of the ids are for these
  EXPECT_EQ(choose(q, {}, shipped).duplicates, gather_duplicates::repeat);
}

TEST(choice_of_duplicates, not_found_where_places_for_rows_are_host_memory) {
  gather_question q = of_table(56000, 512, 1);
  EXPECT_EQ(choose(q, {}, shipped).duplicates, gather_duplicates::once);
  EXPECT_EQ(choose(q, asking(gather_strategy::aligned, gather_order::bucketed), shipped).duplicates, gather_duplicates::once);
  q.far_places = true;
  EXPECT_EQ(choose(q, {}, shipped).duplicates, gather_duplicates::repeat);
  for (gather_order order : {gather_order::none, gather_order::bucketed})
    EXPECT_EQ(choose(q, asking(gather_strategy::aligned, order), shipped).duplicates, gather_duplicates::repeat) << to_string(order);
  // Sorted, each row is written to all its positions on arrival.
  EXPECT_EQ(choose(q, asking(gather_strategy::aligned, gather_order::sorted), shipped).duplicates, gather_duplicates::once);
  gather_options o;
  o.order = gather_order::none, o.duplicates = gather_duplicates::once;
  EXPECT_EQ(choose(q, o, shipped).duplicates, gather_duplicates::once);
  EXPECT_THAT(choose(q, o, shipped).why, HasSubstr("by a hash table, and copied from places that are host memory too; "));
  q.where.kind = device_kind::cpu;
  EXPECT_THAT(choose(q, o, shipped).why, HasSubstr("by a hash table, so that each row is read once; "));
}

TEST(choice_of_way, the_copy_engine_in_order_where_it_was_measured_faster) {
  // 32 GiB, 300,000 ids sorted: aligned 5.1, 10.0, 20.2, 39.8 GB/s of rows of 128 B to 1 KiB, bulk 6.1, 11.7, 24.4, 45 and more; from
  // 2 KiB on both are at the link.
  for (std::uint64_t row : {128, 256, 512, 1024}) {
    gather_run const run = ask(300000, row, 32);
    EXPECT_EQ(run.strategy, gather_strategy::bulk) << row;
    EXPECT_EQ(run.order, gather_order::sorted) << row;
    EXPECT_THAT(run.why, HasSubstr("the copy engine of 4 multiprocessors has fewer rows on their way, which in order share more: "));
  }
  EXPECT_THAT(ask(300000, 512, 32).why, HasSubstr("share more: 2"));
  for (std::uint64_t row : {2048, 4096, 8192}) EXPECT_EQ(ask(300000, row, 32).strategy, gather_strategy::aligned) << row;
  EXPECT_EQ(ask(600000, 512, 32).strategy, gather_strategy::bulk);  // 35 GB/s against 26
  for (std::uint64_t ids : {1000, 1000000, 2000000, 2400000})       // too few to sort; 37 against 34; 38 against 47
    EXPECT_EQ(ask(ids, 512, 32).strategy, gather_strategy::aligned) << ids;
  EXPECT_EQ(ask(300000, 512, 1).strategy, gather_strategy::aligned);  // within reach
  // The model versus the measured milliseconds; it is some tenth too fast at 32 GiB, also for all multiprocessors.
  double const table = 32.0 * (1 << 30);
  for (auto const& [row, ms] : {std::pair{128, 6.32}, {256, 6.58}, {512, 6.29}})
    EXPECT_NEAR(shipped.engine_sorted_ms(300000, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(table)), ms, 0.15 * ms) << row;
}

TEST(choice_of_way, the_copy_engine_is_never_chosen_where_it_cannot_or_may_not) {
  EXPECT_EQ(ask(300000, 512, 32, asking(gather_strategy::automatic, gather_order::sorted)).strategy, gather_strategy::bulk);
  EXPECT_EQ(ask(300000, 512, 32, asking(gather_strategy::automatic, gather_order::none)).strategy, gather_strategy::aligned);
  EXPECT_EQ(ask(300000, 512, 32, asking(gather_strategy::automatic, gather_order::bucketed)).strategy, gather_strategy::aligned);
  EXPECT_EQ(ask(300000, 500, 32).strategy, gather_strategy::aligned);  // row size is not a multiple of 16 bytes
  for (device_kind kind : {device_kind::cpu, device_kind::simulated}) {
    gather_question q = of_table(300000, 512, 32);
    q.where.kind = kind;
    EXPECT_EQ(choose(q, {}, shipped).strategy, gather_strategy::aligned);
  }
  for (unsigned few : {0u, 4u}) {
    for (std::uint64_t row : {512, 1024}) {
      gather_question q = of_table(300000, row, 32);
      q.bulk_ready = false;
      EXPECT_EQ(choose(q, asking(gather_strategy::automatic, gather_order::automatic, few), shipped).strategy, gather_strategy::aligned);
      q = of_table(300000, row, 32);
      q.converted = true;
      EXPECT_EQ(choose(q, asking(gather_strategy::automatic, gather_order::automatic, few), shipped).strategy, gather_strategy::aligned);
      EXPECT_EQ(error_of([&] { choose(q, asking(gather_strategy::bulk), shipped); }),
                "the copy engine brings rows as they are and converts none; use aligned, or no conversion");
      q = of_table(300000, row, 32);
      q.far_rows = 0;
      EXPECT_EQ(choose(q, asking(gather_strategy::automatic, gather_order::automatic, few), shipped).strategy, gather_strategy::aligned);
    }
  }
  gather_options loads;
  loads.load_bytes = 8;  // applies to loads only
  EXPECT_EQ(ask(300000, 512, 32, loads).strategy, gather_strategy::aligned);
  // A batched gather is as dense as one batch with the same number of ids.
  gather_question q = of_table(300000, 512, 32);
  q.batched = true;
  EXPECT_EQ(choose(q, {}, shipped).strategy, gather_strategy::bulk);
  // If most rows are local, a separate pass over them costs the gain.
  q = of_table(300000, 512, 64);
  q.far_rows /= 2;
  EXPECT_EQ(choose(q, {}, shipped).strategy, gather_strategy::aligned);
  // A link that 4 multiprocessors cannot saturate.
  gather_figures fast = shipped;
  fast.zero_copy_gbs = 400;
  for (gather_figures::reach& r : fast.tables) r.translations *= 8;
  EXPECT_EQ(choose(of_table(300000, 512, 32), {}, fast).strategy, gather_strategy::aligned);
}

TEST(choice_of_way, on_few_multiprocessors) {
  EXPECT_EQ(ask(300000, 1024, 32, asking(gather_strategy::automatic, gather_order::automatic, 4)).strategy, gather_strategy::bulk);
  EXPECT_EQ(ask(300000, 1020, 32, asking(gather_strategy::automatic, gather_order::automatic, 4)).strategy, gather_strategy::aligned);
  EXPECT_EQ(ask(300000, 512, 32, asking(gather_strategy::automatic, gather_order::automatic, 4)).strategy, gather_strategy::bulk);
  EXPECT_EQ(ask(300000, 512, 32, asking(gather_strategy::automatic, gather_order::automatic, 2)).strategy, gather_strategy::aligned);
  EXPECT_EQ(ask(300000, 1024, 32, asking(gather_strategy::automatic, gather_order::bucketed, 4)).order, gather_order::bucketed);
  EXPECT_EQ(engine_share({}), 4u);
  for (unsigned n : {1u, 4u, 7u}) EXPECT_EQ(engine_share(asking(gather_strategy::automatic, gather_order::automatic, n)), n);
  EXPECT_EQ(engine_share(asking(gather_strategy::automatic, gather_order::automatic, 8)), 4u);
  EXPECT_EQ(engine_share(asking(gather_strategy::bulk)), 4u);
  EXPECT_EQ(engine_share(asking(gather_strategy::bulk, gather_order::automatic, 16)), 16u);
}

TEST(choice_model, beside_what_was_measured) {
  // The model versus measurements: GB/s of 512 B rows of 32 GiB.
  auto const rate = [&](std::uint64_t n) { return static_cast<double>(n) * 512 / shipped.sorted_ms(n, 512, 32ull << 30) / 1e6; };
  EXPECT_NEAR(rate(100000), 18, 3);
  EXPECT_NEAR(rate(300000), 21.5, 3);
  EXPECT_NEAR(rate(1000000), 39, 4);
  EXPECT_NEAR(rate(2000000), 51.7, 3);

  link_calibration link;
  link.zero_copy_gbs = 20;
  link.random_rows = {{128, 1ull << 30, 14}, {512, 1ull << 30, 19.9}, {1024, 1ull << 30, 19.8}};
  gather_figures const mine = gather_figures::of(link);
  EXPECT_TRUE(mine.measured);
  EXPECT_EQ(mine.translations(1ull << 30), 0);              // the link is the bottleneck there
  EXPECT_NEAR(mine.translations(16ull << 30), 0.03, 0.01);  // larger than measured: the built-in value
}

}  // namespace
}  // namespace garner
