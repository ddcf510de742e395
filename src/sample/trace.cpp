// The training set is shuffled anew each epoch (sorted by random keys), cut into mini-batches, and each is sampled; an access is a row of
// one. The file: docs/reference/file-formats.md.
#include "sample/trace.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <numeric>

#include "core/clock.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/publish.hpp"
#include "core/stats.hpp"
#include "core/thread_pool.hpp"
#include "graph/ranks.hpp"
#include "sample/lists.hpp"
#include "sample/neighbor.hpp"
#include "sample/order.hpp"
#include "sample/score.hpp"

namespace garner {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char magic[8] = {'G', 'A', 'R', 'N', 'E', 'R', 'T', 'R'};
struct raw_trace {
  char magic[8];
  std::uint32_t version, hops;
  std::uint64_t vertices, train, epochs, batches, accesses, sampled, batch, seed;
  std::uint32_t fanouts[6];
  std::uint32_t rule, row_bytes;  // row_bytes: 0 where rows are not kept
  std::uint64_t reserved[2];
};
static_assert(sizeof(raw_trace) == 128);

}  // namespace

void sample_epochs(neighbor_sampler& sampler, sample_options const& o, std::vector<std::uint64_t> const& train, std::uint64_t epochs,
                   std::function<void(std::uint64_t rows)> const& each) {
  std::uint64_t const an_epoch = (train.size() + o.batch - 1) / o.batch;
  progress bar("sampling", an_epoch * epochs);
  buffer<std::int64_t> const seeds = near_values(sampler.at(), std::vector<std::int64_t>(train.begin(), train.end()), "training set");
  for (std::uint64_t e = 0; e < epochs; ++e) {
    epoch_order const order = order_of_epoch(sampler.at(), seeds.span(), true, o.seed, e, 0, 1);
    for (std::uint64_t b = 0; b < an_epoch; ++b) {
      std::uint64_t const first = b * o.batch, size = std::min(o.batch, train.size() - first);
      each(sampler.sample(e * an_epoch + b, reinterpret_cast<std::uint64_t const*>(order.ids.data()) + first, size));
      bar.advance(1);
    }
  }
}

void require_recordable(std::string const& name, graph_info const& info, trace_options const& o) {
  if (o.epochs == 0 || o.epochs > 1u << 20) fail(errc::usage, "{} epochs: use 1 to 1,048,576", o.epochs);
  check_sampling(o.sampling);
  require_pulled_lists(name, info);
}

access_trace record(graph const& g, trace_options const& o, std::vector<std::uint64_t> const& train) {
  phase const timed{"sample.trace"};
  require_recordable(g.name, g.info, o);
  neighbor_sampler sampler(g, o.device, o.edges, o.sampling);
  executor& x = sampler.at();
  std::uint64_t const n = g.info.vertices, a_epoch = (train.size() + o.sampling.batch - 1) / o.sampling.batch;
  access_trace t;
  t.sampling = o.sampling;
  t.vertices = n, t.train = train.size(), t.epochs = o.epochs, t.batches = a_epoch * o.epochs;
  buffer<std::uint32_t> counts(x.near(), n, x.device(), "counts of rows");
  x.fill(counts.data(), 0, counts.bytes());
  bool const renamed = o.keep_rows && g.by_id.bytes() > 0;
  std::vector<std::uint64_t> const rank = renamed ? ranks_inside<std::uint64_t>(g) : std::vector<std::uint64_t>{};
  if (o.keep_rows) t.offsets.push_back(0);
  auto const start = steady::now();
  steady::duration keeping{};  // is not sampling
  sample_epochs(sampler, o.sampling, train, o.epochs, [&](std::uint64_t rows) {
    sampler.count_rows(counts.data());
    t.accesses += rows;
    if (!o.keep_rows || t.offsets.size() > o.keep_batches) return;
    x.wait();
    auto const stopped = steady::now();
    t.rows.resize(t.accesses);
    x.copy(t.rows.data() + t.offsets.back(), sampler.rows(), rows * 8);
    x.wait();
    if (!rank.empty())
      for (std::uint64_t i = t.offsets.back(); i < t.accesses; ++i) t.rows[i] = rank[t.rows[i]];
    t.offsets.push_back(t.accesses);
    keeping += steady::now() - stopped;
  });
  x.wait();
  t.ms = ms_since(start + keeping);
  t.sampled = sampler.edges_drawn();
  t.link = sampler.take_traffic();
  std::vector<std::uint32_t> inside(n);
  if (n) x.copy(inside.data(), counts.data(), counts.bytes());
  x.wait();
  t.counts.resize(n);
  shared_pool().run(n, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t r = begin; r < end; ++r) t.counts[r] = inside[g.at_rank(r)];
  });
  return t;
}

void save_trace(access_trace const& t, std::filesystem::path const& file) try {
  raw_trace raw{};
  std::memcpy(raw.magic, magic, sizeof magic);
  raw.version = 1;
  raw.hops = static_cast<std::uint32_t>(t.sampling.fanouts.size());
  raw.vertices = t.vertices, raw.train = t.train, raw.epochs = t.epochs, raw.batches = t.batches;
  raw.accesses = t.accesses, raw.sampled = t.sampled, raw.batch = t.sampling.batch, raw.seed = t.sampling.seed;
  std::copy_n(t.sampling.fanouts.begin(), std::min<std::size_t>(6, raw.hops), raw.fanouts);
  raw.rule = static_cast<std::uint32_t>(t.sampling.rule);
  bool const kept = !t.offsets.empty();
  if (kept && t.offsets.size() != t.batches + 1)
    fail(errc::usage, "{}: the trace has the rows of {} of its {} mini-batches; keep those of all or of none", file.string(),
         t.offsets.size() - 1, t.batches);
  raw.row_bytes = !kept ? 0 : t.vertices > 0xffffffffull ? 8 : 4;
  pending_file out(file);
  out.write(&raw, sizeof raw);
  out.write(t.counts.data(), t.counts.size() * 4);
  if (t.counts.size() % 2) out.write("\0\0\0\0", 4);
  if (kept) {
    out.write(t.offsets.data(), t.offsets.size() * 8);
    if (raw.row_bytes == 8) out.write(t.rows.data(), t.rows.size() * 8);
    else {
      std::vector<std::uint32_t> const narrow(t.rows.begin(), t.rows.end());
      out.write(narrow.data(), narrow.size() * 4);
    }
  }
  out.commit();
} catch (...) {
  rethrow_as_error();
}

access_trace load_trace(std::filesystem::path const& file) try {
  std::error_code problem;
  std::uint64_t const size = std::filesystem::file_size(file, problem);
  std::ifstream in(file, std::ios::binary);
  if (problem || !in) fail(errc::io, "{}: cannot be read{}; name a trace", file.string(), problem ? ": " + problem.message() : "");
  auto const bad = [&](std::string const& why) { fail(errc::input, "{}: {}; record it anew with garner-lab trace", file.string(), why); };
  raw_trace raw{};
  if (!in.read(reinterpret_cast<char*>(&raw), sizeof raw) || std::memcmp(raw.magic, magic, sizeof magic) != 0) bad("is not a trace");
  if (raw.version != 1) bad(fmt::format("has version {} of its format and this garner reads 1", raw.version));
  if (raw.hops < 1 || raw.hops > 6 || raw.rule > 1 || (raw.row_bytes != 0 && raw.row_bytes != 4 && raw.row_bytes != 8))
    bad("has a damaged header");
  // Each part is held against the size of the file before anything is taken.
  std::uint64_t left = size - sizeof raw;
  auto const part = [&](std::uint64_t count, std::uint64_t bytes) {
    if (count > left / bytes) bad(fmt::format("is shorter than its header says ({} bytes)", size));
    left -= count * bytes;
  };
  part(raw.vertices, 4);
  part(raw.vertices % 2, 4);
  if (raw.row_bytes) {
    if (raw.batches == ~std::uint64_t{0}) bad("has a damaged header");
    part(raw.batches + 1, 8);
    part(raw.accesses, raw.row_bytes);
  }
  if (left) bad(fmt::format("is {} bytes longer than its header says", left));
  access_trace t;
  t.sampling.fanouts.assign(raw.fanouts, raw.fanouts + raw.hops);
  t.sampling.rule = static_cast<hop_rule>(raw.rule);
  t.sampling.batch = raw.batch, t.sampling.seed = raw.seed;
  t.vertices = raw.vertices, t.train = raw.train, t.epochs = raw.epochs, t.batches = raw.batches;
  t.accesses = raw.accesses, t.sampled = raw.sampled;
  auto const read = [&](auto& to, std::uint64_t count) {
    to.resize(count);
    in.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(count * sizeof(to[0])));
  };
  read(t.counts, raw.vertices);
  in.ignore(static_cast<std::streamsize>(raw.vertices % 2 * 4));
  if (raw.row_bytes) {
    read(t.offsets, raw.batches + 1);
    if (raw.row_bytes == 8) read(t.rows, raw.accesses);
    else {
      std::vector<std::uint32_t> narrow;
      read(narrow, raw.accesses);
      t.rows.assign(narrow.begin(), narrow.end());
    }
  }
  if (!in) bad("cannot be read to its end");
  if (std::accumulate(t.counts.begin(), t.counts.end(), std::uint64_t{0}) != t.accesses) bad("has counts that do not sum to its accesses");
  if (raw.row_bytes) {
    if (t.offsets.front() != 0 || t.offsets.back() != t.accesses || !std::is_sorted(t.offsets.begin(), t.offsets.end()))
      bad("has invalid mini-batches");
    for (std::uint64_t const r : t.rows)
      if (r >= t.vertices) bad(fmt::format("has row {} of {}", r, t.vertices));
  }
  return t;
} catch (...) {
  rethrow_as_error();
}

}  // namespace garner
