#include "nn/sharded.hpp"

#include <array>
#include <numeric>

#include "core/convert.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "nn/pointwise.hpp"
#include "nn/row_teams.hpp"

namespace garner {

namespace {

// What is made of a vertex's sum.
struct whole_sum {
  float const *of_row, *of_self;  // null: 1
  row_block<float const> self;    // data null: none
  row_block<float> out;
  bool add;
  bool wide(std::uint64_t columns) const {
    return is_wide<float>({out.data, out.stride}, columns) && (!self.data || is_wide(self, columns));
  }
  template <int Each>
  GARNER_HD void operator()(std::uint64_t i, std::uint64_t c, row_part<float, Each> const& sum) const {
    finish_sum<float>{self.data ? self.row(i) : nullptr, of_self ? of_self[i] : 1.0f, of_row ? of_row[i] : 1.0f, out.row(i), add}(c, sum);
  }
};

// One item of a chunk. A sum that goes on over chunks stands in `running`: the row that comes out, or where that is added to another's.
template <class Rows>
struct sum_item {
  shard_item const* items;
  std::uint64_t const* offsets;
  std::uint64_t first_end;  // what the first of the ends is counted as
  Rows rows;
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
    GARNER_HD Rows rows() const { return b.rows; }
    template <int Each>
    GARNER_HD void done(std::uint64_t c, row_part<float, Each> const& sum) const {
      if (whole) b.whole(item, c, sum);
      else row_part<float, Each>::in(at + c) = sum;
    }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    shard_item const it = items[i];
    bool const slice = it.row >= own;
    float* const at = slice ? slices.row(it.row - own) : running.row(it.row);
    t.template add_rows<float>({offsets[i] - first_end, offsets[i + 1] - first_end}, columns, wide,
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
    GARNER_HD rows_in_order<float> rows() const { return {b.slices.data, b.slices.stride}; }
    template <int Each>
    GARNER_HD void done(std::uint64_t c, row_part<float, Each> const& sum) const {
      b.whole(item, c, sum);
    }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    auto const l = lists[i];
    t.template add_rows<float>({l.first, l.first + l.count}, columns, wide, from{*this, l.row});
  }
};

// MGG's warp: `dist` pairs of a local and a remote partition. Rows narrower than a warp share one.
template <bool Ahead>  // remote rows arrive during the sums of local ones
struct sum_partitions {
  static constexpr int rows_ahead = Ahead ? lanes::rows_ahead : 0;
  neighbor_partition const *local, *remote;
  std::uint64_t locals, remotes, dist;
  std::uint32_t const* ends;
  float const* weights;
  peer_table table;
  row_block<float> sums;
  std::uint64_t columns;
  bool wide;

  struct from {
    sum_partitions const& b;
    neighbor_partition p;
    GARNER_HD float start(std::uint64_t) const { return 0; }
    GARNER_HD rows_by_id<float> rows() const {
      peer_table::part const& of = b.table.of[p.owner];
      return {static_cast<float const*>(of.base), of.row_bytes / sizeof(float), b.ends, b.weights};
    }
    template <int Each>
    GARNER_HD void done(std::uint64_t c, row_part<float, Each> const& sum) const {
      for (int j = 0; j < Each; ++j) atomic_add(b.sums.row(p.row) + c + j, sum.v[j]);
    }
  };
  template <class Team>
  GARNER_HD void one(Team t, neighbor_partition const& p) const {
    t.template add_rows<float>({p.begin, p.begin + p.count}, columns, wide, from{*this, p});
  }
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t warp) const {
    for (std::uint64_t i = warp * dist; i < (warp + 1) * dist; ++i) {
      if constexpr (Ahead) {
        neighbor_partition const near = i < locals ? local[i] : neighbor_partition{}, far = i < remotes ? remote[i] : neighbor_partition{};
        t.template add_rows_beside<float>({near.begin, near.begin + near.count}, from{*this, near}, {far.begin, far.begin + far.count},
                                          from{*this, far}, columns, wide);
      } else {
        if (i < locals) one(t, local[i]);
        if (i < remotes) one(t, remote[i]);
      }
    }
  }
};
struct finish_row {
  row_block<float> sums;
  std::uint64_t columns;
  whole_sum whole;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    t.each(indices{0, columns}, [&](std::uint64_t c) { whole(i, c, row_part<float, 1>{{sums.row(i)[c]}}); });
  }
};

}  // namespace

sharded_edges::sharded_edges(shard_group& group, std::uint32_t shard, executor& x, whole_graph const& g, shard_parts const& parts,
                             aggregation how)
    : sharded_edges(&group, group.options(), shard, x, g, parts, how) {}
sharded_edges::sharded_edges(shard_asked const& options, std::uint32_t shard, executor& x, whole_graph const& g, shard_parts const& parts,
                             aggregation how)
    : sharded_edges(nullptr, options, shard, x, g, parts, how) {}
sharded_edges::sharded_edges(shard_group* group, shard_asked const& options, std::uint32_t shard, executor& x, whole_graph const& g,
                             shard_parts const& parts, aggregation how)
    : group_(group),
      shard_(shard),
      parts_(parts),
      own_options_(options),
      how_(how),
      rows_(parts.count(shard)),
      far_(x, executor::urgent{}),
      same_(!g.given().offsets || (g.pulled().ends == g.given().ends && g.pulled().offsets == g.given().offsets)) {
  std::vector<std::uint64_t> own(rows_);
  std::iota(own.begin(), own.end(), parts_.first(shard_));
  degrees_ = degrees_of(x, g, own);
  take(x, forth_, g.pulled(), g);
  if (!same_) take(x, back_, g.given(), g);
  if (by_windows()) {
    lists_come_.emplace(x, executor::urgent{});
    chunk_window most{};  // of all
    for (direction const* const d : {&forth_, &back_})
      for (near_chunk const& c : d->chunks) {
        for (chunk_window const& w : c.windows) most.items = std::max(most.items, w.items), most.ends = std::max(most.ends, w.ends);
        if (!c.packed.empty()) codes_.grow(x, c.packed, c.windows);
      }
    for (leased<staged_lists>& staged : staged_) {
      staged_lists& to = staged.fill(x);
      to.items = buffer<shard_item>(x.near(), most.items, x.device(), "a window of lists");
      to.offsets = buffer<std::uint64_t>(x.near(), most.items + 1, x.device(), "a window of lists");
      to.ends = buffer<std::uint32_t>(x.near(), most.ends, x.device(), "a window of lists");
      if (g.pulled().weights && this->options().remote_adjacency)
        to.weights = buffer<float>(x.near(), most.ends, x.device(), "a window of weights");
    }
  }
  normalise(x);
  x.wait();
  if (group_) degrees_ = {};
}

void sharded_edges::take(executor& x, direction& to, whole_graph::lists const& lists, whole_graph const& g) {
  shard_lists::given const given{lists.offsets, lists.ends, lists.weights};
  bool const all = options().strategy != shard_strategy::bulk;
  if (options().strategy == shard_strategy::mgg) {
    mgg_lists const made(given, parts_, shard_, options().tuning.whole_lists ? ~std::uint32_t{0} : options().tuning.ps);
    to.local = bring(x, made.local, "partitions of a shard"), to.remote = bring(x, made.remote, "partitions of a shard");
    to.ends = bring(x, made.ends, "adjacency of a shard"), to.weights = bring(x, made.weights, "weights of a shard");
    to.brought = made.remote_edges;
  } else {
    shard_lists made(given, parts_, shard_, options().sums, all ? shard_lists::numbered::by_graph : shard_lists::numbered::by_arrival,
                     slice_edges, whole_from(x));
    std::vector<std::uint64_t> arrive;  // the first of each owner, among those that come
    for (std::vector<std::uint32_t> const& rows : made.needs) {
      arrive.push_back(to.brought);
      if (!all) to.brought += rows.size();
    }
    for (std::uint32_t const k : made.order) {
      shard_lists::chunk const& from = made.chunks[k];
      if (all && k != shard_) continue;
      near_chunk c;
      c.owner = k;
      if (by_windows()) c.windows = windows_of(from, options().list_window);
      if (options().compressed_adjacency) {
        c.packed = packed_chunk(x, from, c.windows, options().remote_adjacency);
      } else {
        c.items = keep(x, from.items, "adjacency of a shard"), c.offsets = keep(x, from.offsets, "adjacency of a shard");
        c.ends = keep(x, from.ends, "adjacency of a shard");
      }
      c.weights = keep(x, from.weights, "weights of a shard");
      c.needs = bring(x, made.needs[k], "rows that a shard needs");
      c.first_brought = arrive[k];
      made.chunks[k] = {};
      to.chunks.push_back(std::move(c));
    }
    if (all) to.brought = parts_.vertices() - rows_;
    if (!all && group_) to.demand = group_->ask(shard_, x, made.needs);
    to.long_lists = bring(x, made.long_lists, "long adjacency of a shard");
    to.slices = made.slices;
    if (!group_) to.needed = std::move(made.needs);
  }
  if (group_) return;
  std::vector<std::uint64_t> vertices;  // of the rows that the caller brings
  for (std::uint32_t k = 0; k < to.needed.size(); ++k)
    for (std::uint32_t const i : to.needed[k]) vertices.push_back(parts_.first(k) + i);
  to.degrees = degrees_of(x, g, vertices);
}

std::vector<bool> sharded_edges::whole_from(executor const& x) const {
  std::vector<bool> whole(group_ && x.asynchronous() ? parts_.shards() : 0);
  bool const in_place = !whole.empty() && group_->link(shard_).provider == shard_provider::peer;
  for (std::uint32_t k = 0; k < whole.size(); ++k) whole[k] = in_place && group_->apart(shard_, k);
  return whole;
}

template <class T>
buffer<T> sharded_edges::keep(executor& x, std::vector<T> const& from, char const* what) const {
  if (!options().remote_adjacency) return bring(x, from, what);
  buffer<T> to(tier::host, from.size(), x.device(), what);
  std::copy(from.begin(), from.end(), to.data());
  return to;
}

buffer<float> sharded_edges::degrees_of(executor& x, whole_graph const& g, std::vector<std::uint64_t> const& vertices) const {
  whole_graph::lists const& pulled = g.pulled();
  std::vector<float> degrees(vertices.size());
  for (std::size_t i = 0; (how_ != aggregation::sum || !group_) && i < vertices.size(); ++i) {
    std::uint64_t const begin = pulled.offsets[vertices[i]], end = pulled.offsets[vertices[i] + 1];
    double sum = pulled.weights ? 0 : static_cast<double>(end - begin);
    for (std::uint64_t k = begin; pulled.weights && k < end; ++k) sum += static_cast<double>(pulled.weights[k]);
    degrees[i] = static_cast<float>(sum);
  }
  return bring(x, degrees, "degrees");
}

void sharded_edges::normalise(executor& x) {
  factors_.normalise_whole(x, how_, degrees_.data(), rows_);
  for (direction* const d : {&forth_, &back_}) d->factors.normalise_whole(x, how_, d->degrees.data(), d->degrees.size());
}
void sharded_edges::aggregate_as(executor& x, aggregation how) {
  if (how == how_) return;
  how_ = how;
  normalise(x);
}

namespace {
float const* of_end(relation_edges<float> const& r, bool back) { return back ? r.all_factors().of_target : r.all_factors().of_source; }

// Rows times their factors (null: as they are), in `to`; there in any case where they are wanted in a tier.
row_block<float const> times(executor& x, row_block<float const> rows, std::uint64_t count, std::uint64_t columns, float const* factors,
                             buffer<float>& to, std::optional<tier> where = {}) {
  if (!factors && !where) return rows;
  row_block<float> const made{whole_room(x, to, count * columns, "rows times their factors", where.value_or(x.near())), columns};
  if (factors) multiply_rows(x, rows, made, count, columns, factors);
  else drop_rows(x, rows, made, count, columns, {});
  return {made.data, made.stride};
}
}  // namespace

row_block<float const> sharded_edges::as_read(executor& x, bool back, row_block<float const> in, std::uint64_t columns) {
  // Other shards would copy whole rows where they need some columns: these are copied to an array of their own.
  bool const apart = options().shards > 1 && in.stride > columns && options().host_activations;
  return times(x, in, rows_, columns, of_end(factors_, back), scaled_, shared_in_ || !apart ? shared_in_ : std::optional(x.near()));
}

sharded_edges::sums sharded_edges::sums_of(bool back, row_block<float const> in, row_block<float const> multiplied, row_block<float> out,
                                           std::uint64_t columns, row_block<float const> self, bool add) {
  auto const f = factors_.all_factors();
  return {back && !same_ ? back_ : forth_,
          back ? f.of_source : f.of_target,
          f.of_self,
          multiplied,
          how_ == aggregation::gcn ? in : self,
          out,
          columns,
          add};
}
void sharded_edges::forward(executor& x, row_block<float const> in, row_block<float> out, std::uint64_t columns,
                            row_block<float const> self) {
  run(x, sums_of(false, in, as_read(x, false, in, columns), out, columns, self, false));
}
void sharded_edges::backward(executor& x, row_block<float const> in, row_block<float> out, std::uint64_t columns,
                             row_block<float const> self, bool add) {
  run(x, sums_of(true, in, as_read(x, true, in, columns), out, columns, self, add));
}
void sharded_edges::begin(executor& x, bool back, row_block<float const> in, row_block<float> out, std::uint64_t columns) {
  sums const s = sums_of(back, in, as_read(x, back, in, columns), out, columns, {}, false);
  room(x, partial_, s.d.slices * columns, "sums of a shard");
  if (first_is_own(s.d)) add_chunk(x, s, s.d.chunks.front(), of_floats(s.in));
}
void sharded_edges::finish(executor& x, bool back, row_block<float const> in, float const* brought, row_block<float> out,
                           std::uint64_t columns) {
  row_block<float const> const own = of_end(factors_, back) ? row_block<float const>{scaled_.data(), columns} : in;  // of begin()
  sums const s = sums_of(back, in, own, out, columns, {}, false);
  row_block<float const> const others = times(x, {brought, columns}, s.d.brought, columns, of_end(s.d.factors, back), multiplied_);
  for (std::size_t k = first_is_own(s.d); k < s.d.chunks.size(); ++k) {
    near_chunk const& c = s.d.chunks[k];
    add_chunk(x, s, c, of_floats(c.owner == shard_ ? s.in : row_block<float const>{others.row(c.first_brought), columns}));
  }
  add_slices(x, s);
}

void sharded_edges::run(executor& x, sums const& s) {
  switch (options().strategy) {
    case shard_strategy::bulk:
      return run_bulk(x, s);
    case shard_strategy::collective:
      return run_collective(x, s);
    case shard_strategy::mgg:
      return run_mgg(x, s);
  }
}

void sharded_edges::add_items(executor& x, sums const& s, chunk_rows const& rows, shard_item const* items, std::uint64_t count,
                              std::uint64_t const* offsets, std::uint32_t const* ends, float const* weights, std::uint64_t first_end) {
  whole_sum const whole{s.of_row, s.of_self, s.self, s.out, s.add};
  // A lane reads four numbers, of whatever size.
  bool const wide = s.columns % 4 == 0 && rows.stride % 4 == 0 &&
                    reinterpret_cast<std::uintptr_t>(rows.data) % (4 * bytes_of(rows.is)) == 0 && whole.wide(s.columns);
  row_block<float> const slices{partial_.data(), s.columns}, running = s.add ? row_block<float>{slices.row(s.d.slices), s.columns} : s.out;
  auto const add_up = [&](auto const& of) {
    for_each_row<float>(
        x, count, s.columns, wide,
        sum_item<std::remove_cvref_t<decltype(of)>>{items, offsets, first_end, of, running, slices, rows_, s.columns, wide, whole});
  };
  auto const* const numbers = static_cast<std::uint16_t const*>(rows.data);
  if (rows.is == element::bf16) add_up(read_rows_by_id<from_brain>{numbers, rows.stride, ends, weights});
  else if (rows.is == element::f16) add_up(read_rows_by_id<from_half>{numbers, rows.stride, ends, weights});
  else add_up(read_rows_by_id<from_float>{static_cast<float const*>(rows.data), rows.stride, ends, weights});
}
void sharded_edges::add_chunk(executor& x, sums const& s, near_chunk const& c, chunk_rows const& rows) {
  bool const weighted = c.weights.size() > 0;
  if (!by_windows())
    return add_items(x, s, rows, c.items.data(), c.items.size(), c.offsets.data(), c.ends.data(), weighted ? c.weights.data() : nullptr, 0);
  for (chunk_window const& w : c.windows) {  // the next arrives during the sum of this one
    leased<staged_lists>& staged = staged_[windows_come_++ % 2];
    executor& by = *lists_come_;
    staged_lists& to = staged.fill(by, x);
    if (c.packed.empty()) {
      by.copy(to.items.data(), c.items.data() + w.item, w.items * sizeof(shard_item));
      by.copy(to.offsets.data(), c.offsets.data() + w.item, (w.items + 1) * sizeof(std::uint64_t));
      by.copy(to.ends.data(), c.ends.data() + w.end, w.ends * sizeof(std::uint32_t));
    } else {
      c.packed.unpack(by, w, codes_, {to.items.data(), to.offsets.data(), to.ends.data()});
    }
    float const* weights = weighted ? c.weights.data() + w.end : nullptr;
    if (weighted && options().remote_adjacency) {
      by.copy(to.weights.data(), weights, w.ends * sizeof(float));
      weights = to.weights.data();
    }
    lease<staged_lists*> came = staged.filled(by);
    came.use(x);
    add_items(x, s, rows, to.items.data(), w.items, to.offsets.data(), to.ends.data(), weights, w.end);
  }
}

void sharded_edges::add_slices(executor& x, sums const& s) {
  whole_sum const whole{s.of_row, s.of_self, s.self, s.out, s.add};
  bool const wide = whole.wide(s.columns);
  for_each_row<float>(x, s.d.long_lists.size(), s.columns, wide,
                      sum_slices{s.d.long_lists.data(), {partial_.data(), s.columns}, s.columns, wide, whole});
}

sharded_edges::given_rows sharded_edges::give(executor& x, sums const& s) {
  if (options().wire == element::f32 || parts_.shards() == 1)
    return {{s.in.data, rows_, s.in.stride * sizeof(float), s.columns * sizeof(float)}, element::f32};
  std::uint16_t* const packed = room(x, packed_, rows_ * s.columns, "rows of a shard, rounded");
  pack_rows(x, s.in.data, s.in.stride, rows_, s.columns, options().wire, packed);
  std::uint64_t const row = s.columns * sizeof(std::uint16_t);
  return {{packed, rows_, row, row}, options().wire};
}

void sharded_edges::run_bulk(executor& x, sums const& s) {
  direction& d = s.d;
  room(x, partial_, (d.slices + (s.add ? rows_ : 0)) * s.columns, "sums of a shard");
  bool const constant = constant_ && s.in.data == constant_ && &d == &forth_, there = constant && kept_columns_ == s.columns;
  element const wire = options().wire;
  std::uint64_t const row_bytes = s.columns * bytes_of(wire);
  leased<buffer<char>>& to = constant ? kept_ : brought_;
  bool const comes = !there && d.brought > 0;
  char* const brought = comes ? room(x, to.fill(far_, x), d.brought * row_bytes, "rows of other shards") : to.what().data();
  std::array<lease<buffer<char>*>, shard_parts::most> came;  // by owner
  std::optional<shared_rows> rows;
  struct reading {  // if a later line throws, others may write their rows only after these reads
    executor& far;
    bool behind_x = false;
    ~reading() {
      if (!behind_x) try {
          far.wait();
        } catch (...) {  // then it reads no more either
        }
    }
  } brings{far_};
  if (!there) {
    given_rows const given = give(x, s);
    rows.emplace(*group_, shard_, x, given, d.demand.get());
    for (near_chunk& c : d.chunks) {
      if (c.needs.size() == 0) continue;
      rows->before(c.owner, far_);
      peer_table::part const& of = rows->table().of[c.owner];
      std::uint32_t const* const which = rows->at(c.needs.data());
      char* const at = brought + c.first_brought * row_bytes;
      if (of.row_bytes == row_bytes && far_.asynchronous() && (!which || c.needs.size() == parts_.count(c.owner))) {
        far_.copy(at, of.base, c.needs.size() * row_bytes);
      } else {  // two blocks per multiprocessor fill the link, and leave space for concurrent sums
        limited_share const few(far_, static_cast<unsigned>(far_.multiprocessors()) * 2, 256);
        move_rows(far_, of, which, c.needs.size(), row_bytes, at);
      }
      came[c.owner] = to.filled(far_);
    }
    numbers_brought_ += d.brought * s.columns;
  }
  for (near_chunk& c : d.chunks) {
    bool const own = c.owner == shard_;
    lease<buffer<char>*>& here = came[c.owner];  // none of what was kept
    if (here) here.use(x);
    add_chunk(x, s, c, own ? of_floats(s.in) : chunk_rows{brought + c.first_brought * row_bytes, s.columns, wire});
    here.end();
  }
  add_slices(x, s);
  brings.behind_x = true;
  if (!rows) return;
  rows->close();
  if (constant) kept_columns_ = s.columns;
}

void sharded_edges::run_collective(executor& x, sums const& s) {
  direction& d = s.d;
  room(x, partial_, (d.slices + (s.add ? rows_ : 0)) * s.columns, "sums of a shard");
  auto* const all =
      reinterpret_cast<float*>(room(x, brought_.fill(x), parts_.vertices() * s.columns * sizeof(float), "rows of all shards"));
  given_rows const given = give(x, s);
  shared_rows rows(*group_, shard_, x, given);
  for (std::uint32_t k = 0; k < parts_.shards(); ++k) {
    peer_table::part const& of = rows.table().of[k];
    rows.before(k, x);
    float* const to = all + parts_.first(k) * s.columns;
    if (k == shard_ && given.wire != element::f32) drop_rows(x, s.in, row_block<float>{to, s.columns}, rows_, s.columns, {});
    else if (of.row_bytes == s.columns * sizeof(float)) x.copy(to, of.base, of.rows * of.row_bytes);
    else bring_rows(x, rows.table(), k, nullptr, of.rows, s.columns, given.wire, to);
  }
  for (near_chunk& c : d.chunks) add_chunk(x, s, c, {all, s.columns, element::f32});
  add_slices(x, s);
  rows.close();
}

void sharded_edges::run_mgg(executor& x, sums const& s) {
  if (options().tuning.plain_reads) run_partitions<false>(x, s);
  else run_partitions<true>(x, s);
}
template <bool Ahead>
void sharded_edges::run_partitions(executor& x, sums const& s) {
  using body_type = sum_partitions<Ahead>;
  direction& d = s.d;
  float* const sums_of_rows = room(x, partial_, rows_ * s.columns, "sums of a shard");
  x.fill(sums_of_rows, 0, rows_ * s.columns * sizeof(float));
  shared_rows rows(*group_, shard_, x, {s.in.data, rows_, s.in.stride * sizeof(float), s.columns * sizeof(float)});
  bool wide = true;
  body_type body{d.local.data(),
                 d.remote.data(),
                 d.local.size(),
                 d.remote.size(),
                 options().tuning.dist,
                 d.ends.data(),
                 d.weights.size() ? d.weights.data() : nullptr,
                 rows.table(),
                 {sums_of_rows, s.columns},
                 s.columns,
                 false};
  for (std::uint32_t k = 0; k < parts_.shards(); ++k) {
    rows.before(k, x);
    peer_table::part const& of = rows.table().of[k];
    wide &= is_wide(row_block<float const>{static_cast<float const*>(of.base), of.row_bytes / sizeof(float)}, s.columns);
  }
  body.wide = wide;
  auto const add_up = [&](executor& on, body_type const& of) {
    std::uint64_t const teams = (std::max(of.locals, of.remotes) + of.dist - 1) / of.dist;
    limited_share const threads(on, on.share_blocks(), options().tuning.wpb * 32);
    for_each_row<float>(on, teams, s.columns, wide, of);
  };
  if (options().tuning.apart) {  // side by side, in warps of their own
    body_type local = body, remote = body;
    local.remotes = remote.locals = 0;
    here_done_.record(x), here_done_.before(far_);
    add_up(far_, remote), add_up(x, local);
    aside_.record(far_), aside_.before(x);
  } else {
    add_up(x, body);
  }
  for_each_item<32>(x, rows_, finish_row{{sums_of_rows, s.columns}, s.columns, {s.of_row, s.of_self, s.self, s.out, s.add}});
  rows.close();
}

std::uint64_t sharded_edges::rows_brought(bool back) const { return back && !same_ ? back_.brought : forth_.brought; }

std::uint64_t sharded_edges::bytes() const {
  std::uint64_t sum = brought_.what().bytes() + multiplied_.bytes() + partial_.bytes() + kept_.what().bytes() + degrees_.bytes() +
                      scaled_.bytes() + packed_.bytes() + factors_.bytes() + staged_[0].what().bytes() + staged_[1].what().bytes() +
                      codes_.bytes();
  for (direction const* d : {&forth_, &back_}) {
    sum += d->long_lists.bytes() + d->local.bytes() + d->remote.bytes() + d->ends.bytes() + d->weights.bytes() + d->degrees.bytes() +
           d->factors.bytes();
    bool const lists_near = !options().remote_adjacency || far_.where().kind != device_kind::cuda;
    for (near_chunk const& c : d->chunks) {
      sum += c.needs.bytes();
      if (lists_near) sum += c.items.bytes() + c.offsets.bytes() + c.ends.bytes() + c.weights.bytes() + c.packed.bytes();
    }
  }
  return sum;
}

}  // namespace garner
