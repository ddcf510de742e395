#include "lab/gather.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "cli/command/arithmetic.hpp"

#include "core/device.hpp"
#include "core/event.hpp"
#include "core/executor.hpp"
#include "core/fail.hpp"
#include "core/median.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "lab/now.hpp"
#include "lab/share/share.hpp"
#include "memory/buffer.hpp"
#include "memory/link.hpp"

namespace garner::lab {

namespace {

struct question {
  std::string figure, label;
  std::uint64_t row_bytes = 512, ids = 300000, batches = 1;
  element kind = element::u8;
  gather_options how = {};
  bool skewed = false;  // as in sampling: few rows get most accesses
  bool halved = false;  // the second half of the ids is the first again
  enum class by { gather, copies } by = by::gather;
  tier from = tier::host;  // the tier of all rows; peer: on another device
};

class bench_of_gathers {
 public:
  bench_of_gathers(gather_bench_options const& o, std::function<void(gather_row const&)> const& told)
      : o_(o), told_(told), x_(o.where), table_(tier::host, o.table_bytes, x_.device(), "a table to gather from") {
    static_cast<file_head&>(file_) = head_of_run(o.command, o.where);
    file_.table_bytes = o.table_bytes, file_.trials = o.trials, file_.seed = o.seed;
    auto* const words = static_cast<std::uint64_t*>(table_.data());
    progress filling("filling the table", o.table_bytes);
    x_.threads().run(o.table_bytes / 8, 1u << 20, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) words[i] = mix(i ^ o.seed);
      filling.advance((end - begin) * 8);
    });
    if (x_.on_device()) file_.link_gbs = link_of(x_.device()).zero_copy_gbs;
  }

  gather_file run() {
    for (std::string const& figure : o_.figures) (this->*measured_by(figure))();
    return std::move(file_);
  }

  // errc::usage for any other text.
  using figure_of = void (bench_of_gathers::*)();
  static figure_of measured_by(std::string const& figure) {
    static constexpr std::pair<char const*, figure_of> all[] = {
        {"unaligned", &bench_of_gathers::unaligned},   {"sizes", &bench_of_gathers::sizes},
        {"orders", &bench_of_gathers::orders},         {"dense", &bench_of_gathers::dense},
        {"duplicates", &bench_of_gathers::duplicates}, {"convert", &bench_of_gathers::convert},
        {"share", &bench_of_gathers::share},           {"near", &bench_of_gathers::near},
        {"beside", &bench_of_gathers::beside},         {"copies", &bench_of_gathers::copies}};
    for (auto const& [name, run] : all)
      if (figure == name) return run;
    fail(errc::usage,
         "'{}' is not a figure of gathers; pass some of unaligned,sizes,orders,dense,duplicates,convert,share,near,beside,copies", figure);
  }

 private:
  bool on_device() const { return x_.on_device(); }
  std::uint64_t usual() const { return o_.ids.size() > 1 ? o_.ids[1] : o_.ids[0]; }

  // The dissertation's strategies and their rivals: each position reads its row.
  static void as_given(gather_options& how, gather_strategy strategy) {
    how.strategy = strategy, how.order = gather_order::none, how.duplicates = gather_duplicates::repeat;
  }
  // Figure 3.10: rows of 1,024 to 1,044 B.
  void unaligned() {
    for (std::uint64_t row = 1024; row <= 1044; row += 4)
      for (gather_strategy strategy :
           {gather_strategy::staged, gather_strategy::naive, gather_strategy::shifted, gather_strategy::aligned}) {
        question q{"unaligned", fmt::format("{} B {}", row, to_string(strategy)), row, usual()};
        as_given(q.how, strategy), measure(q);
      }
  }
  // The row size from which one copy per row is efficient.
  void sizes() {
    for (std::uint64_t row : {128u, 256u, 512u, 1024u, 2048u, 2408u, 4096u, 8192u, 65536u, 131072u, 262144u, 524288u}) {
      question q{"sizes", fmt::format("{} B, a copy a row", row), row, on_device() ? std::min<std::uint64_t>(usual(), 20000) : usual()};
      q.by = question::by::copies;
      if (o_.where.kind != device_kind::simulated) measure(q);
      q.by = question::by::gather, q.ids = usual();
      if (row > 8192) {  // only sizes around the crossover
        as_given(q.how, gather_strategy::aligned), q.label = fmt::format("{} B aligned", row);
        measure(q);
        continue;
      }
      for (gather_strategy strategy : {gather_strategy::staged, gather_strategy::naive, gather_strategy::shifted, gather_strategy::aligned,
                                       gather_strategy::automatic}) {
        q.how = {};
        if (strategy != gather_strategy::automatic) as_given(q.how, strategy);
        q.label = fmt::format("{} B {}", row, to_string(strategy));
        measure(q);
      }
      for (gather_order order : {gather_order::none, gather_order::sorted}) {
        q.how = {};
        q.how.strategy = gather_strategy::bulk, q.how.order = order, q.how.multiprocessors = 4;
        q.label = fmt::format("{} B bulk, 4 multiprocessors, {}", row, order == gather_order::sorted ? "sorted" : "as given");
        measure(q);
      }
    }
  }
  // Order and density, 512 B.
  void orders() {
    for (std::uint64_t n : o_.ids)
      for (gather_order order : {gather_order::none, gather_order::sorted, gather_order::bucketed, gather_order::automatic}) {
        question q{"orders", fmt::format("{} ids, {}", n, to_string(order)), 512, n};
        q.how.order = order;
        if (order != gather_order::automatic) q.how.strategy = gather_strategy::aligned;
        measure(q);
      }
    for (bool skewed : {false, true})
      for (std::uint64_t batches : {1, 8}) {
        question q{"orders",
                   fmt::format("{} {} of {} ids{}", batches, batches > 1 ? "batches" : "batch", usual(),
                               skewed ? ", repeated as by sampling" : ""),
                   512, usual(), batches};
        q.skewed = skewed, measure(q);
      }
  }
  // Sorted rows, from a few of the table to most of its translations: loads of all multiprocessors, and the copy engine of 4.
  void dense() {
    auto const both = [&](question q, std::string const& what) {
      for (gather_strategy strategy : {gather_strategy::aligned, gather_strategy::bulk}) {
        q.label = fmt::format("{} B, {}, {}", q.row_bytes, what, to_string(strategy));
        q.how.strategy = strategy, q.how.order = gather_order::sorted, q.how.multiprocessors = strategy == gather_strategy::bulk ? 4 : 0;
        measure(q);
      }
    };
    for (std::uint64_t row : {512u, 1024u}) {
      std::uint64_t last = 0;
      for (std::uint64_t ids : o_.ids)
        if (std::uint64_t const n = std::min(ids, most_delivered / row); n != std::exchange(last, n))
          both({"dense", "", row, n}, fmt::format("{} ids", n));
    }
    for (bool skewed : {false, true}) {
      question q{"dense", "", 512, usual(), 8};
      q.skewed = skewed;
      both(q, fmt::format("8 x {} ids{}", usual(), skewed ? ", repeated" : ""));
    }
  }
  // The cost of deduplication without duplicates, and its gain if half are: each order, and each position a read.
  void duplicates() {
    for (std::uint64_t row : {512u, 2408u})
      for (bool halved : {false, true}) {
        question q{"duplicates", "", row, usual()};
        q.halved = halved;
        auto const of = [&](std::string_view name, gather_options const& how) {
          q.how = how, q.label = fmt::format("{} B, {}, {}", row, halved ? "each twice" : "random ids", name);
          measure(q);
        };
        gather_options how;
        of("automatic", how);
        how.strategy = gather_strategy::aligned;
        for (gather_order order : {gather_order::none, gather_order::sorted, gather_order::bucketed})
          how.order = order, of(to_string(order), how);
        as_given(how, gather_strategy::aligned), of("each a read", how);
      }
  }
  // f32 rows versus f16 rows of equal width, written as f32.
  void convert() {
    for (std::uint64_t width : {128u, 1024u}) {
      std::uint64_t const n = width == 128 ? o_.ids.back() : usual();
      for (element kind : {element::f32, element::f16, element::bf16, element::i8}) {
        question q{"convert", fmt::format("{} elements, {} to f32", width, to_string(kind)), width * bytes_of(kind), n};
        q.kind = kind, q.how.to = element::f32, measure(q);
      }
    }
  }
  // Figures 3.12 and 3.13: rows of 4 KiB by a share of the device.
  void share() {
    if (!on_device()) return left_out("share", "a share of the multiprocessors");
    auto const all = static_cast<unsigned>(x_.multiprocessors());
    for (unsigned sms : {1u, 2u, 4u, 8u, 12u, 16u, 24u, 32u, 48u, 64u, 96u, 132u}) {
      if (sms > all) break;
      for (unsigned load : {4u, 8u, 16u}) {
        question q{"share", fmt::format("{} multiprocessors, loads of {} B", sms, load), 4096, usual()};
        as_given(q.how, gather_strategy::aligned), q.how.multiprocessors = sms, q.how.load_bytes = load;
        measure(q);
      }
      if (sms > 16) continue;
      question q{"share", fmt::format("{} multiprocessors, copy engine", sms), 4096, usual()};
      as_given(q.how, gather_strategy::bulk), q.how.multiprocessors = sms;
      measure(q);
    }
  }

  // Rows in the device's memory, and in a peer's.
  void near() {
    if (!on_device()) return left_out("near", "rows of devices", "on {} all rows are local; use --device cuda");
    for (tier from : {tier::device, tier::peer})
      for (std::uint64_t row : {64u, 128u, 256u, 512u, 1024u, 4096u}) {
        question q{"near", fmt::format("{} B, {}", row, from == tier::peer ? "of another device" : "of this device"), row, o_.ids.back()};
        q.from = from, measure(q);
      }
  }

  // Gathers on 8 multiprocessors while arithmetic runs on the rest.
  void beside() {
    if (!on_device()) return left_out("beside", "arithmetic during a gather");
    for (share_kind kind : {share_kind::partition, share_kind::grid, share_kind::mps}) {
      std::string const share(to_string(kind));
      if (kind == share_kind::mps) {
        question q{"beside", "mps", 4096, o_.ids.back()};
        measure(q, [&](question const&, gather_row&) {
          require_mps(mps_here());
          fail(errc::device,
               "the Multi-Process Service gives a part of the device to a process, and here one process gathers and reckons; use partition "
               "or grid");
        });
        continue;
      }
      for (std::uint64_t row : {4096u, 2048u, 512u})
        for (gather_strategy strategy : {gather_strategy::aligned, gather_strategy::bulk}) {
          if (row == 512 && strategy == gather_strategy::bulk) continue;
          question q{"beside", fmt::format("{}, {} B {}", share, row, to_string(strategy)), row, o_.ids.back()};
          q.how.strategy = strategy, q.how.order = row == 512 ? gather_order::sorted : gather_order::none;
          measure(q, [&](question const& asked, gather_row& r) { time_beside(asked, {kind, 8}, r); });
        }
    }
  }
  // CPU: a gather, with its id check, versus one memcpy per row of the same ids by the same threads, alternating.
  void copies() {
    if (o_.where.kind != device_kind::cpu)
      return left_out("copies", "a gather versus one memcpy per row",
                      "on {} no memcpy gathers rows; use --device cpu, or the figure sizes");
    for (std::uint64_t row : {128u, 256u, 512u, 1024u, 2408u, 4096u})
      time_beside_copies({"copies", fmt::format("{} B, gathered", row), row, usual()});
  }
  void left_out(char const* figure, char const* label, char const* why = "{} has no multiprocessors to share; use --device cuda") {
    gather_row row;
    row.figure = figure, row.label = label, row.skipped = fmt::format(fmt::runtime(why), to_string(o_.where));
    put_down(row);
  }
  void put_down(gather_row const& row) {
    file_.rows.push_back(row);
    told_(row);
  }

  // --- one of them ---
  std::vector<std::int64_t> draw(question const& q, std::uint64_t rows, std::uint64_t n, std::uint64_t round) const {
    std::vector<std::int64_t> ids(n);
    x_.threads().run(n, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        std::uint64_t const bits = random_bits(o_.seed, round, q.halved ? i % ((n + 1) / 2) : i);
        double const u = static_cast<double>(bits >> 11) * 0x1p-53;
        // A tenth of the rows gets half of the accesses, scattered over the table.
        std::uint64_t const rank = q.skewed ? static_cast<std::uint64_t>(std::pow(u, 3.3) * static_cast<double>(rows)) : bits % rows;
        ids[i] = static_cast<std::int64_t>(q.skewed ? mix(rank) % rows : rank);
        if (q.from == tier::peer)
          ids[i] = ids[i] / 2 * 2 + 1 < static_cast<std::int64_t>(rows) ? ids[i] / 2 * 2 + 1 : 1;  // the second of each pair
      }
    });
    return ids;
  }
  void measure(question const& q) {
    measure(q, [&](question const& asked, gather_row& row) { time(asked, row); });
  }
  static void rate(gather_row& row, double ms, std::uint64_t rows, std::uint64_t row_bytes) {
    row.ms = ms, row.rows_a_second = static_cast<double>(rows) / ms * 1e3, row.gbs = static_cast<double>(rows * row_bytes) / ms / 1e6;
  }
  static void note(gather_row& row, gather_run const& run) {
    row.strategy = to_string(run.strategy), row.order = to_string(run.order), row.duplicates = to_string(run.duplicates), row.why = run.why;
  }
  template <class Time>
  void measure(question const& q, Time timed) {
    check_interrupted();
    gather_row row;
    row.figure = q.figure, row.label = q.label, row.row_bytes = q.row_bytes, row.batches = q.batches;
    row.multiprocessors = q.how.multiprocessors, row.load_bytes = q.how.load_bytes;
    try {
      timed(q, row);
    } catch (error const& e) {
      if (e.code() == errc::interrupted || e.code() == errc::internal) throw;
      row.skipped = e.what();
    }
    put_down(row);
  }
  void time(question const& q, gather_row& row) {
    row_array const array{table_.data(), o_.table_bytes / q.row_bytes, q.row_bytes / bytes_of(q.kind), q.kind, {}};
    tiered_options t;
    t.device = o_.where, t.feature_cache = q.from == tier::device ? o_.table_bytes : 0;
    if (q.from == tier::peer) {
      if (device::count() < 2) fail(errc::device, "there is one device");
      t.peers = {o_.where.index, o_.where.index == 0 ? 1 : 0}, t.peer_cache = o_.table_bytes;
    }
    tiered_tensor tensor(array, t);
    if (q.from == tier::peer && tensor.tiers()[tier::peer] < tensor.rows())
      fail(errc::device, "not all rows lie on peers: {}", tensor.about());
    if (q.from == tier::device && tensor.tiers()[tier::device] < tensor.rows())
      fail(errc::device, "not all rows lie there: {}", tensor.about());
    std::uint64_t const out_row = array.width * bytes_of(q.how.to.value_or(q.kind));
    std::uint64_t const n = std::max<std::uint64_t>(1, std::min<std::uint64_t>(q.ids, most_delivered / out_row / q.batches)),
                        all = n * q.batches;
    row.ids = n;
    memory_block const out(x_.near(), all * out_row, x_.device(), "rows that are gathered");
    buffer<std::int64_t> const near(x_.near(), all, x_.device(), "ids of a gather");
    std::vector<id_span> batches;
    std::vector<row_output> outs;
    for (std::uint64_t b = 0; b < q.batches; ++b) {
      batches.push_back({near.data() + b * n, n, 8});
      outs.push_back({static_cast<char*>(out.data()) + b * n * out_row, n * out_row});
    }
    std::vector<std::int64_t> ids;
    std::vector<double> ms;
    for (std::uint64_t round = 0; round <= o_.trials; ++round) {
      check_interrupted();
      ids = draw(q, array.rows, all, round);
      x_.copy(near.data(), ids.data(), near.bytes());
      x_.wait();
      double const start = now_ms();
      if (q.by == question::by::copies) {
        row.strategy = "copies", row.order = "none";
        copy_each(array, ids, static_cast<char*>(out.data()));
      } else {
        gather_run const run = tensor.gather_many(batches, outs, q.how);
        note(row, run);
        row.requests = run.link.request_count();
      }
      double const took = now_ms() - start;
      if (round == 0) check(array, q, ids, out, out_row);
      else ms.push_back(took);
      if (o_.where.kind == device_kind::simulated) return;  // a trace does not depend on time
    }
    rate(row, median(ms), all, out_row);
    // Converted rows take less of the link than is delivered.
    double const crossed = *row.gbs * static_cast<double>(q.row_bytes) / static_cast<double>(out_row);
    if (on_device() && q.from != tier::host) return;
    if (on_device()) row.of_link = crossed / *file_.link_gbs;
    else if (q.by == question::by::copies) a_copy_a_row_[q.row_bytes] = *row.gbs;
    else if (auto const at = a_copy_a_row_.find(q.row_bytes); at != a_copy_a_row_.end()) row.of_link = crossed / at->second;
  }

  // The share is the median of the rounds' shares, since other load on the machine slows both parts of a round.
  void time_beside_copies(question const& q) {
    row_array const array{table_.data(), o_.table_bytes / q.row_bytes, q.row_bytes, q.kind, {}};
    tiered_tensor tensor(array);
    std::uint64_t const n = std::max<std::uint64_t>(1, std::min<std::uint64_t>(q.ids, most_delivered / q.row_bytes));
    memory_block const out(tier::host, n * q.row_bytes, -1, "rows that are gathered");
    gather_row copied, gathered;
    copied.figure = gathered.figure = q.figure;
    copied.label = fmt::format("{} B, a memcpy a row", q.row_bytes), gathered.label = q.label;
    copied.row_bytes = gathered.row_bytes = q.row_bytes, copied.ids = gathered.ids = n;
    copied.strategy = "copies", copied.order = "none";
    std::vector<double> copy_ms, gather_ms, share;
    for (std::uint64_t round = 0; round <= o_.trials; ++round) {
      check_interrupted();
      std::vector<std::int64_t> const ids = draw(q, array.rows, n, round);
      double took[2] = {};
      for (std::uint64_t turn = 0; turn < 2; ++turn) {
        bool const gathers = (turn + round) % 2;
        if (round == 0) std::memset(out.data(), 0, out.bytes());
        double const start = now_ms();
        if (gathers) {
          gather_run const run = tensor.gather({ids.data(), n, 8}, {out.data(), out.bytes()}, q.how);
          took[1] = now_ms() - start;
          note(gathered, run);
        } else {
          copy_each(array, ids, static_cast<char*>(out.data()));
          took[0] = now_ms() - start;
        }
        if (round == 0) check(array, q, ids, out, q.row_bytes);
      }
      if (round == 0) continue;
      copy_ms.push_back(took[0]), gather_ms.push_back(took[1]), share.push_back(took[0] / took[1]);
    }
    auto const tell = [&](gather_row& row, std::vector<double> const& ms) {
      rate(row, median(ms), n, q.row_bytes);
      put_down(row);
    };
    gathered.of_link = median(share);
    tell(copied, copy_ms);
    tell(gathered, gather_ms);
  }

  // Two streams, with an event before and after each operation. The gather is launched first, since without a partition later blocks
  // wait for earlier ones. Arithmetic kernels then follow each other until the gather ends; those that ended before it are counted.
  void time_beside(question const& q, sm_share const& wanted, gather_row& row) {
    shared_executor on(o_.where, wanted), rest(on, shared_executor::beside{});
    if (on.share()->kind() != wanted.kind) fail(errc::device, "the device has no more multiprocessors than that: {}", on.share()->about());
    row_array const array{table_.data(), o_.table_bytes / q.row_bytes, q.row_bytes, q.kind, {}};
    tiered_options t;
    t.device = o_.where, t.feature_cache = 0;
    std::uint64_t const n = std::max<std::uint64_t>(1, std::min<std::uint64_t>(q.ids, most_delivered / q.row_bytes));
    memory_block const out(tier::device, n * q.row_bytes, x_.device(), "rows that are gathered");
    buffer<std::int64_t> const near(tier::device, n, x_.device(), "ids of a gather");
    buffer<std::uint32_t> const wrong(tier::device, 1, x_.device(), "lanes of arithmetic that came out wrong");
    x_.fill(wrong.data(), 0, wrong.bytes());
    tiered_tensor tensor(array, t);
    gather_options how = q.how;
    how.stream = stream_ref::of_address(on.stream()), how.multiprocessors = static_cast<unsigned>(on.multiprocessors());
    row.ids = n, row.multiprocessors = how.multiprocessors;

    std::uint64_t round = 0;
    std::vector<event> gathering(2), reckoning(most_kernels + 1);
    std::vector<std::int64_t> ids;
    auto const new_ids = [&] {
      check_interrupted();
      ids = draw(q, array.rows, n, round++);
      x_.copy(near.data(), ids.data(), near.bytes());
      x_.wait();
    };
    auto const gather = [&] {
      gathering[0].record(on);
      gather_run const run = tensor.gather({near.data(), n, 8}, {out.data(), out.bytes()}, how);
      gathering[1].record(on);
      row.strategy = to_string(run.strategy), row.order = to_string(run.order), row.why = on.share()->about();
    };
    auto const reckon_on = [&](executor& x, std::uint64_t lanes, std::size_t kernels) {
      for (std::size_t k = 0; k < kernels; ++k) {
        reckoning[k].record(x);
        cli::reckon(x, lanes, steps, wrong.data());
      }
      reckoning[kernels].record(x);
    };
    // One kernel of `lanes` without a gather; the first is not counted.
    auto const alone = [&](executor& x, std::uint64_t lanes) {
      constexpr std::size_t kernels = 6;
      std::vector<double> ms;
      for (std::uint64_t k = 0; k < o_.trials; ++k) {
        reckon_on(x, lanes, kernels);
        x.wait();
        for (std::size_t i = 1; i < kernels; ++i) ms.push_back(reckoning[i].ms_until(reckoning[i + 1]));
      }
      return median(ms);
    };

    std::vector<double> gathers;
    for (std::uint64_t k = 0; k <= o_.trials; ++k) {
      new_ids();
      gather();
      on.wait();
      if (k == 0) check(array, q, ids, out, q.row_bytes);
      else gathers.push_back(gathering[0].ms_until(gathering[1]));
    }
    double const gather_alone = median(gathers), bytes = static_cast<double>(n * q.row_bytes);
    // Enough lanes for some 10 ms, or a quarter of the gather.
    std::uint64_t lanes = std::uint64_t{1} << 20;
    double const aim = std::clamp(gather_alone / 4, 0.2, 10.0);
    lanes = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(lanes) * aim / std::max(alone(x_, lanes), 1e-3)));
    gather_beside b;
    b.share = to_string(on.share()->kind()), b.rest = static_cast<unsigned>(rest.multiprocessors());
    b.gather_alone_gbs = bytes / gather_alone / 1e6;
    b.whole_ms = alone(x_, lanes), b.rest_ms = alone(rest, lanes);

    auto const kernels = std::min(most_kernels, static_cast<std::size_t>(2.5 * gather_alone / b.rest_ms) + 2);
    std::vector<double> gathered, reckoned;
    for (std::uint64_t k = 0; k <= o_.trials; ++k) {
      new_ids();
      gather();
      reckon_on(rest, lanes, kernels);
      on.wait();
      rest.wait();
      if (k == 0) {
        check(array, q, ids, out, q.row_bytes);
        continue;
      }
      double const took = gathering[0].ms_until(gathering[1]);
      gathered.push_back(took);
      for (std::size_t i = 0; i < kernels && gathering[0].ms_until(reckoning[i + 1]) <= took; ++i)
        reckoned.push_back(reckoning[i].ms_until(reckoning[i + 1]));
    }
    if (x_.read(wrong.data()) != 0) fail(errc::internal, "bench gather: {}: arithmetic came out wrong", q.label);
    if (reckoned.empty())
      fail(errc::device, "the gather of {:.3f} ms ended before a kernel of arithmetic did; use more --ids", median(gathered));
    b.beside_ms = median(reckoned);
    rate(row, median(gathered), n, q.row_bytes);
    row.of_link = *row.gbs / *file_.link_gbs;
    row.beside = b;
  }
  void copy_each(row_array const& array, std::vector<std::int64_t> const& ids, char* out) {
    auto const* const data = static_cast<char const*>(array.data);
    std::uint64_t const bytes = array.row_bytes();
    auto const some = [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        char const* const row = data + static_cast<std::uint64_t>(ids[i]) * bytes;
        if (on_device()) x_.copy(out + i * bytes, row, bytes);
        else std::memcpy(out + i * bytes, row, bytes);
      }
    };
    if (!on_device()) return x_.threads().run(ids.size(), 1024, some);
    some(0, ids.size());
    x_.wait();
  }
  // Compares the gathered rows with the table's, converted ones with the host's conversion.
  void check(row_array const& array, question const& q, std::vector<std::int64_t> const& ids, memory_block const& out,
             std::uint64_t out_row) {
    std::uint64_t const each = std::max<std::uint64_t>(1, (64u << 20) / out_row);
    std::vector<char> got(std::min<std::uint64_t>(each, ids.size()) * out_row), want(q.how.to ? got.size() : 0);
    std::optional<tiered_tensor> plain;
    if (q.how.to) plain.emplace(array);
    for (std::uint64_t k = 0; k < ids.size(); k += each) {
      std::uint64_t const some = std::min<std::uint64_t>(each, ids.size() - k);
      x_.copy(got.data(), static_cast<char const*>(out.data()) + k * out_row, some * out_row);
      x_.wait();
      if (plain) {
        gather_options how;
        how.to = q.how.to;
        plain->gather({ids.data() + k, some, 8}, want, how);
      }
      x_.threads().run(some, 4096, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) {
          char const* const right = plain ? want.data() + i * out_row
                                          : static_cast<char const*>(array.data) + static_cast<std::uint64_t>(ids[k + i]) * q.row_bytes;
          if (std::memcmp(got.data() + i * out_row, right, out_row) != 0)
            fail(errc::internal, "bench gather: {}: row {} at position {} came out wrong", q.label, ids[k + i], k + i);
        }
      });
    }
  }

  static constexpr std::uint64_t most_delivered = std::uint64_t{2} << 30;  // bytes per call
  static constexpr std::size_t most_kernels = 64;
  static constexpr std::uint32_t steps = 1536;  // a block of 256 lanes takes some 0.1 ms

  gather_bench_options const& o_;
  std::function<void(gather_row const&)> const& told_;
  executor x_;
  memory_block table_;
  gather_file file_;
  std::map<std::uint64_t, double> a_copy_a_row_;  // GB/s, on the CPU
};

}  // namespace

gather_file measure_gathers(gather_bench_options const& options, std::function<void(gather_row const&)> const& told) {
  if (options.table_bytes < (1u << 20))
    fail(errc::usage, "a table of {} bytes is too small to measure; use 1MiB or more", options.table_bytes);
  if (options.ids.empty() || std::count(options.ids.begin(), options.ids.end(), 0u))
    fail(errc::usage, "the number of ids is 0; pass at least 1");
  for (std::string const& figure : options.figures) bench_of_gathers::measured_by(figure);  // validates the names before it fills the table
  if (options.trials == 0) fail(errc::usage, "no trials, no figure; use 1 or more");
  return bench_of_gathers(options, told).run();
}

}  // namespace garner::lab
