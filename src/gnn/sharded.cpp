#include "gnn/sharded.hpp"

#include <numeric>

#include "core/exec.hpp"
#include "core/fail.hpp"

namespace garner {

namespace {

// What is made of a vertex's sum, as sum_rows of aggregate.cpp does.
struct whole_sum {
  float const *of_row, *of_self;  // null: 1
  row_block<float const> self;    // data null: none
  row_block<float> out;
  bool add;
  GARNER_HD void operator()(std::uint64_t i, std::uint64_t c, float sum) const {
    float value = (of_row ? of_row[i] : 1.0f) * sum;
    if (self.data) value += (of_self ? of_self[i] : 1.0f) * self.row(i)[c];
    float* const out_row = out.row(i);
    if (add) value += out_row[c];
    out_row[c] = value;
  }
};

// One item of a chunk. A sum that goes on over chunks stands in `running`: the row that comes out, or where that is added to another's.
struct sum_item {
  shard_item const* items;
  std::uint64_t const* offsets;
  std::uint32_t const* ends;
  float const *weights, *of_end;
  float const* rows;
  std::uint64_t stride;
  row_block<float> running, slices;
  std::uint64_t own, columns;
  bool wide;
  whole_sum whole;

  struct from {
    sum_item const& b;
    float* at;
    std::uint64_t item;
    bool begins, whole;
    GARNER_HD float start(std::uint64_t c) const { return begins ? 0.0f : at[c]; }
    GARNER_HD float const* row(std::uint64_t k) const { return b.rows + b.ends[k] * b.stride; }
    GARNER_HD float scale(std::uint64_t k) const {
      float const f = b.of_end ? b.of_end[b.ends[k]] : 1.0f;
      return b.weights ? f * b.weights[k] : f;
    }
    GARNER_HD void done(std::uint64_t c, float sum) const {
      if (whole) b.whole(item, c, sum);
      else at[c] = sum;
    }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    shard_item const it = items[i];
    bool const slice = it.row >= own;
    float* const at = slice ? slices.row(it.row - own) : running.row(it.row);
    t.template add_rows<float>({offsets[i], offsets[i + 1]}, columns, wide,
                               from{*this, at, it.row, it.begins != 0, it.ends != 0 && !slice});
  }
};

// The slices of a long list, in their order.
struct sum_slices {
  shard_lists::long_list const* lists;
  row_block<float> slices;
  std::uint64_t columns;
  bool wide;
  whole_sum whole;

  struct from {
    sum_slices const& b;
    std::uint64_t item;
    GARNER_HD float start(std::uint64_t) const { return 0; }
    GARNER_HD float const* row(std::uint64_t k) const { return b.slices.row(k); }
    GARNER_HD float scale(std::uint64_t) const { return 1; }
    GARNER_HD void done(std::uint64_t c, float sum) const { b.whole(item, c, sum); }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    auto const l = lists[i];
    t.template add_rows<float>({l.first, l.first + l.count}, columns, wide, from{*this, l.row});
  }
};

// MGG's warp: `dist` pairs of a local and a remote partition.
struct sum_partitions {
  neighbour_partition const *local, *remote;
  std::uint64_t locals, remotes, dist;
  std::uint32_t const* ends;
  float const *weights, *of_end;
  std::uint64_t first[shard_parts::most];  // of each owner's sources, among the factors
  peer_table table;
  row_block<float> sums;
  std::uint64_t columns;
  bool wide;

  struct from {
    sum_partitions const& b;
    neighbour_partition const& p;
    GARNER_HD float start(std::uint64_t) const { return 0; }
    GARNER_HD float const* row(std::uint64_t k) const { return b.table.template row<float>(p.owner, b.ends[k]); }
    GARNER_HD float scale(std::uint64_t k) const {
      float const f = b.of_end ? b.of_end[b.first[p.owner] + b.ends[k]] : 1.0f;
      return b.weights ? f * b.weights[k] : f;
    }
    GARNER_HD void done(std::uint64_t c, float sum) const { atomic_add(b.sums.row(p.row) + c, sum); }
  };
  template <class Team>
  GARNER_HD void one(Team t, neighbour_partition const& p) const {
    t.template add_rows<float>({p.begin, p.begin + p.count}, columns, wide, from{*this, p});
  }
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t warp) const {
    for (std::uint64_t i = warp * dist; i < (warp + 1) * dist; ++i) {
      if (i < locals) one(t, local[i]);
      if (i < remotes) one(t, remote[i]);
    }
  }
};
struct finish_row {
  row_block<float> sums;
  std::uint64_t columns;
  whole_sum whole;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    t.each(indices{0, columns}, [&](std::uint64_t c) { whole(i, c, sums.row(i)[c]); });
  }
};

struct copy_row {
  row_block<float const> from;
  row_block<float> to;
  std::uint64_t columns;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    t.each(indices{0, columns}, [&](std::uint64_t c) { to.row(i)[c] = from.row(i)[c]; });
  }
};

bool is_wide(float const* data, std::uint64_t stride, std::uint64_t columns) {
  return columns % 4 == 0 && stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

}  // namespace

sharded_edges::sharded_edges(shard_group& group, std::uint32_t shard, executor& x, whole_graph const& g, shard_parts const& parts,
                             aggregation how)
    : group_(group),
      shard_(shard),
      parts_(parts),
      options_(group.options()),
      how_(how),
      rows_(parts.count(shard)),
      far_(x, executor::urgent{}),
      same_(!g.given().offsets || (g.pulled().ends == g.given().ends && g.pulled().offsets == g.given().offsets)) {
  take(x, forth_, g.pulled(), g);
  if (!same_) take(x, back_, g.given(), g);
}

void sharded_edges::take(executor& x, direction& to, whole_graph::lists const& lists, whole_graph const& g) {
  shard_lists::given const given{lists.offsets, lists.ends, lists.weights};
  std::vector<std::uint64_t> sources;  // vertices, as the factors count them
  bool const all = options_.way != shard_way::bulk;
  if (options_.way == shard_way::mgg) {
    mgg_lists const made(given, parts_, shard_, options_.mgg.ps);
    to.local = bring(x, made.local, "partitions of a shard"), to.remote = bring(x, made.remote, "partitions of a shard");
    to.ends = bring(x, made.ends, "lists of a shard"), to.weights = bring(x, made.weights, "weights of a shard");
    to.brought = made.remote_edges;
  } else {
    shard_lists made(given, parts_, shard_, options_.sums, all ? shard_lists::numbered::by_graph : shard_lists::numbered::by_arrival,
                     slice_edges);
    for (std::uint32_t const k : made.order) {
      shard_lists::chunk const& from = made.chunks[k];
      if (all && k != shard_) continue;
      near_chunk c;
      c.owner = k;
      c.items = bring(x, from.items, "lists of a shard"), c.offsets = bring(x, from.offsets, "lists of a shard");
      c.ends = bring(x, from.ends, "lists of a shard"), c.weights = bring(x, from.weights, "weights of a shard");
      c.needs = bring(x, made.needs[k], "rows that a shard needs");
      c.first = sources.size(), c.first_brought = to.brought;
      if (k == shard_) {
        to.own = sources.size();
        for (std::uint64_t i = 0; i < rows_; ++i) sources.push_back(parts_.first(shard_) + i);
      } else {
        for (std::uint32_t const i : made.needs[k]) sources.push_back(parts_.first(k) + i);
        to.brought += made.needs[k].size();
      }
      made.chunks[k] = {};
      to.chunks.push_back(std::move(c));
    }
    to.long_lists = bring(x, made.long_lists, "long lists of a shard");
    to.slices = made.slices;
  }
  if (all) {
    to.own = parts_.first(shard_);
    sources.resize(parts_.vertices());
    std::iota(sources.begin(), sources.end(), std::uint64_t{0});
    if (options_.way == shard_way::collective) to.brought = parts_.vertices() - rows_;
  }
  to.sources = sources.size();
  whole_graph::lists const& pulled = g.pulled();
  std::vector<float> degrees(sources.size());
  for (std::size_t i = 0; how_ != aggregation::sum && i < sources.size(); ++i) {
    std::uint64_t const begin = pulled.offsets[sources[i]], end = pulled.offsets[sources[i] + 1];
    double sum = pulled.weights ? 0 : static_cast<double>(end - begin);
    for (std::uint64_t k = begin; pulled.weights && k < end; ++k) sum += static_cast<double>(pulled.weights[k]);
    degrees[i] = static_cast<float>(sum);
  }
  buffer<float> const near_degrees = bring(x, degrees, "degrees");
  to.factors.normalise_whole(x, how_, near_degrees.data(), degrees.size());
  x.wait();
}

void sharded_edges::forward(executor& x, row_block<float const> in, row_block<float> out, std::uint64_t columns,
                            row_block<float const> self) {
  auto const f = forth_.factors.all_factors();
  bool const gcn = how_ == aggregation::gcn;
  run(x, {forth_, f.of_source, f.of_target ? f.of_target + forth_.own : nullptr, gcn ? f.of_self + forth_.own : nullptr, in,
          gcn ? in : self, out, columns, false});
}
void sharded_edges::backward(executor& x, row_block<float const> in, row_block<float> out, std::uint64_t columns,
                             row_block<float const> self, bool add) {
  direction& d = same_ ? forth_ : back_;
  auto const f = d.factors.all_factors();
  bool const gcn = how_ == aggregation::gcn;
  run(x, {d, f.of_target, gcn ? f.of_source + d.own : nullptr, gcn ? f.of_self + d.own : nullptr, in, gcn ? in : self, out, columns, add});
}

void sharded_edges::run(executor& x, sums const& s) {
  switch (options_.way) {
    case shard_way::bulk:
      return run_bulk(x, s);
    case shard_way::collective:
      return run_collective(x, s);
    case shard_way::mgg:
      return run_mgg(x, s);
  }
}

void sharded_edges::add_chunk(executor& x, sums const& s, near_chunk const& c, float const* rows, std::uint64_t stride,
                              float const* of_end) {
  row_block<float> const slices{partial_.data(), s.columns}, running = s.add ? row_block<float>{slices.row(s.d.slices), s.columns} : s.out;
  for_each_item<32>(x, c.items.size(),
                    sum_item{c.items.data(),
                             c.offsets.data(),
                             c.ends.data(),
                             c.weights.size() ? c.weights.data() : nullptr,
                             of_end,
                             rows,
                             stride,
                             running,
                             slices,
                             rows_,
                             s.columns,
                             is_wide(rows, stride, s.columns),
                             {s.of_row, s.of_self, s.self, s.out, s.add}});
}

sharded_edges::given_rows sharded_edges::give(executor& x, sums const& s) {
  if (options_.wire == element::f32 || parts_.shards() == 1) return {s.in.data, s.in.stride * sizeof(float), element::f32};
  std::uint16_t* const packed = room(x, packed_, rows_ * s.columns, "rows of a shard, rounded");
  pack_rows(x, s.in.data, s.in.stride, rows_, s.columns, options_.wire, packed);
  return {packed, s.columns * sizeof(std::uint16_t), options_.wire};
}

void sharded_edges::run_bulk(executor& x, sums const& s) {
  direction& d = s.d;
  room(x, partial_, (d.slices + (s.add ? rows_ : 0)) * s.columns, "sums of a shard");
  bool const constant = constant_ && s.in.data == constant_ && &d == &forth_, there = constant && kept_columns_ == s.columns;
  float* const brought = room(x, constant ? kept_ : brought_, d.brought * s.columns, "rows of other shards");
  std::optional<shared_rows> rows;
  if (!there) {
    given_rows const given = give(x, s);
    rows.emplace(group_, shard_, x, given.base, rows_, given.row_bytes);
    used_.before(far_);
    for (near_chunk& c : d.chunks) {
      if (c.needs.size() == 0) continue;
      rows->before(c.owner, far_);
      bring_rows(far_, rows->table(), c.owner, c.needs.data(), c.needs.size(), s.columns, given.wire,
                 brought + c.first_brought * s.columns);
      c.came.record(far_);
    }
    numbers_brought_ += d.brought * s.columns;
  }
  for (near_chunk& c : d.chunks) {
    bool const own = c.owner == shard_;
    if (!own) c.came.before(x);
    add_chunk(x, s, c, own ? s.in.data : brought + c.first_brought * s.columns, own ? s.in.stride : s.columns,
              s.of_end ? s.of_end + c.first : nullptr);
  }
  for_each_item<32>(
      x, d.long_lists.size(),
      sum_slices{
          d.long_lists.data(), {partial_.data(), s.columns}, s.columns, s.columns % 4 == 0, {s.of_row, s.of_self, s.self, s.out, s.add}});
  used_.record(x);
  if (!rows) return;
  rows->close();
  if (constant) kept_columns_ = s.columns;
}

void sharded_edges::run_collective(executor& x, sums const& s) {
  direction& d = s.d;
  room(x, partial_, (d.slices + (s.add ? rows_ : 0)) * s.columns, "sums of a shard");
  float* const all = room(x, brought_, parts_.vertices() * s.columns, "rows of all shards");
  given_rows const given = give(x, s);
  shared_rows rows(group_, shard_, x, given.base, rows_, given.row_bytes);
  for (std::uint32_t k = 0; k < parts_.shards(); ++k) {
    peer_table::part const& of = rows.table().of[k];
    rows.before(k, x);
    float* const to = all + parts_.first(k) * s.columns;
    if (k == shard_ && given.wire != element::f32) for_each_item<32>(x, rows_, copy_row{s.in, {to, s.columns}, s.columns});
    else if (of.row_bytes == s.columns * sizeof(float)) x.copy(to, of.base, of.rows * of.row_bytes);
    else bring_rows(x, rows.table(), k, nullptr, of.rows, s.columns, given.wire, to);
  }
  for (near_chunk& c : d.chunks) add_chunk(x, s, c, all, s.columns, s.of_end);
  for_each_item<32>(
      x, d.long_lists.size(),
      sum_slices{
          d.long_lists.data(), {partial_.data(), s.columns}, s.columns, s.columns % 4 == 0, {s.of_row, s.of_self, s.self, s.out, s.add}});
  rows.close();
}

void sharded_edges::run_mgg(executor& x, sums const& s) {
  direction& d = s.d;
  float* const sums_of_rows = room(x, partial_, rows_ * s.columns, "sums of a shard");
  x.fill(sums_of_rows, 0, rows_ * s.columns * sizeof(float));
  shared_rows rows(group_, shard_, x, s.in.data, rows_, s.in.stride * sizeof(float));
  bool wide = true;
  sum_partitions body{d.local.data(),
                      d.remote.data(),
                      d.local.size(),
                      d.remote.size(),
                      options_.mgg.dist,
                      d.ends.data(),
                      d.weights.size() ? d.weights.data() : nullptr,
                      s.of_end,
                      {},
                      rows.table(),
                      {sums_of_rows, s.columns},
                      s.columns,
                      false};
  for (std::uint32_t k = 0; k < parts_.shards(); ++k) {
    rows.before(k, x);
    peer_table::part const& of = rows.table().of[k];
    body.first[k] = parts_.first(k);
    wide &= is_wide(static_cast<float const*>(of.base), of.row_bytes / sizeof(float), s.columns);
  }
  body.wide = wide;
  std::uint64_t const dist = options_.mgg.dist, warps = (std::max(body.locals, body.remotes) + dist - 1) / dist;
  unsigned const blocks = x.share_blocks(), threads = x.threads_a_block();
  x.limit_share(blocks, options_.mgg.wpb * 32);
  for_each_item<32>(x, warps, body, access_mode::aligned, true);
  x.limit_share(blocks, threads);
  for_each_item<32>(x, rows_, finish_row{{sums_of_rows, s.columns}, s.columns, {s.of_row, s.of_self, s.self, s.out, s.add}});
  rows.close();
}

std::uint64_t sharded_edges::rows_brought(bool back) const { return back && !same_ ? back_.brought : forth_.brought; }

std::uint64_t sharded_edges::bytes() const {
  std::uint64_t sum = brought_.bytes() + partial_.bytes() + kept_.bytes() + packed_.bytes();
  for (direction const* d : {&forth_, &back_}) {
    sum += d->long_lists.bytes() + d->local.bytes() + d->remote.bytes() + d->ends.bytes() + d->weights.bytes() + d->factors.bytes();
    for (near_chunk const& c : d->chunks) sum += c.items.bytes() + c.offsets.bytes() + c.ends.bytes() + c.needs.bytes() + c.weights.bytes();
  }
  return sum;
}

}  // namespace garner
