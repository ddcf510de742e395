#include "load/stages.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/device.hpp"
#include "core/stats.hpp"
#include "load/plan.hpp"
#include "memory/budget.hpp"

namespace garner {

load_stages::load_stages(load_terms& t, load_ring& ring, std::uint64_t seed_bytes, loader_access::rows_source const& source)
    : t_(t), ring_(ring), seed_bytes_(seed_bytes) {
  loader_options& o = t.o;
  executor& x = t.x;
  auto const ahead = [](loaded_table const& table) { return !table.seeds_only && !table.by; };  // its rows can be requested ahead
  for (loaded_table const& table : t.tables) {
    std::shared_ptr<stored_rows const> const file = tensor_access::file(*table.table);
    if (!file || table.table->tiers()[tier::file] == 0 || !ahead(table)) continue;
    if (file->stored_bytes() >= worth_measuring)
      o.window = std::max(o.window, look_ahead(file->measured(), static_cast<double>(o.batch_size), batch_list::most));
  }
  for (loaded_table const& table : t.tables) {
    row_view const& view = tensor_access::view(*table.table);
    std::shared_ptr<stored_rows const> const file = tensor_access::file(*table.table);
    rows_by_tier const tiers = table.table->tiers();
    puts_.push_back(tensor_access::puts(*table.table));
    tier_of_.emplace_back();
    for (std::size_t k = 0; k < tier_count; ++k)
      if (tiers[static_cast<tier>(k)] == table.table->rows()) tier_of_.back() = static_cast<tier>(k);
    caches_.push_back(nullptr);
    if (file && view.kept() < view.rows && ahead(table)) {
      file_cache::terms const terms{.host_bytes = tensor_access::file_cache_bytes(*table.table),
                                    .device_bytes = x.on_device() ? window_bytes() : o.window_bytes.value_or(0),
                                    .policy = o.cache == cache_policy::pinned ? eviction::pinned : eviction::next_use,
                                    .window = o.window,
                                    .scores = tensor_access::file_scores(*table.table),
                                    .factors = tensor_access::host_factors(*table.table)};
      caches_.back() = source ? source(x.where(), file, view, terms) : std::make_unique<file_cache>(x.where(), file, view, terms);
    }
    bool const far = x.where().kind != device_kind::cpu && view.kept() < view.rows && view.row_bytes > 0 && ahead(table) && !file;
    windows_.push_back(far && (o.strategy == load_strategy::window || o.strategy == load_strategy::automatic)
                           ? std::make_unique<row_window>(x.where(), view, table.table->kind(), window_bytes(), o.multiprocessors)
                           : nullptr);
  }
  auto const none = [](auto const& all) { return std::none_of(all.begin(), all.end(), [](auto const& w) { return w != nullptr; }); };
  from_files_ = !none(caches_);
  bool const waits = !none(windows_) || (x.where().kind != device_kind::cpu && t.sampler.inside().far());
  if (!waits && !from_files_) o.window = std::min(o.window, near_window(x.asynchronous()));
  chooses_window_ = t.chooses_window && waits;
  window_ = o.window;
  made_.record(x);
  x.wait();
  ring_.made = steady::now();
}

batch_times::stage load_stages::stage_of(event const& begin, event const& end, double began, double ms) const {
  if (!t_.x.asynchronous()) return {began, began + ms};
  return {made_.ms_until(begin), made_.ms_until(end)};
}
std::uint64_t load_stages::bytes_now() const {
  std::uint64_t n = t_.sampler.bytes() + seed_bytes_;
  for (auto const& w : windows_) n += w ? w->bytes() : 0;
  for (auto const& r : ring_.all)
    for (memory_block const& b : r->rooms) n += b.bytes();
  for (auto const& c : caches_)
    if (c) n += c->near_bytes() + (t_.x.on_device() ? 0 : c->bytes());  // on a device, only device memory counts
  return n;
}
std::uint64_t load_stages::window_bytes() const {
  if (t_.o.window_bytes) return *t_.o.window_bytes;
  if (!t_.x.on_device()) return 1u << 30;  // simulated
  return most_on_device(t_.x.device()) / 4;
}
bool load_stages::window_full() const {
  return std::any_of(windows_.begin(), windows_.end(), [](auto const& w) { return w && w->full(); });
}
void load_stages::require_peers() const {
  for (loaded_table const& table : t_.tables) tensor_access::require_peers(*table.table);
}
bool load_stages::changed() const {
  return !std::equal(puts_.begin(), puts_.end(), t_.tables.begin(),
                     [](std::uint64_t n, loaded_table const& table) { return n == tensor_access::puts(*table.table); });
}
void load_stages::renew() {
  for (std::size_t k = 0; k < puts_.size(); ++k) {
    std::uint64_t const now = tensor_access::puts(*t_.tables[k].table);
    if (std::exchange(puts_[k], now) != now && windows_[k]) windows_[k]->expire();
  }
}
void load_stages::wait() {
  try {
    t_.x.wait();
    for (auto const& w : windows_)
      if (w) w->at().wait();
  } catch (...) {
  }
}
std::exception_ptr load_stages::forget() {
  std::exception_ptr problem;  // of one cache; the others must still forget their mini-batches
  for (auto const& c : caches_)
    if (c) try {
        c->reset();
      } catch (...) {
        problem = std::current_exception();
      }
  return problem;
}

// --- a group ---
void load_stages::sample(load_group& g) {
  largest_ = std::max(largest_, static_cast<std::uint32_t>(g.size()));
  block_sampler::parts& sampler = t_.sampler.inside();
  executor& x = t_.x;
  std::vector<sampled_subgraph::parts*> together;
  for (load_job& j : g) {
    j.drawn = ring_.free_blocks();
    together.push_back(&j.drawn->inside());
    if (j.own) {
      std::vector<typed_seeds> some;
      for (own_seeds const& s : *j.own) some.push_back({s.type, s.seeds, s.times});
      sampler.prepare(j.drawn->inside(), j.number, some, false);
      continue;
    }
    std::vector<std::int64_t> at;
    if (!t_.times.empty()) {
      at.resize(j.count);
      std::vector<std::int64_t> positions(j.count);
      x.copy(positions.data(), j.order->positions.data() + j.first, j.count * 8);
      x.wait();
      for (std::uint64_t i = 0; i < j.count; ++i) at[i] = t_.times[static_cast<std::size_t>(positions[i])];
    }
    typed_seeds const seeds{t_.o.seed_type, {j.order->ids.data() + j.first, j.count}, at};
    sampler.prepare(j.drawn->inside(), j.number, {&seeds, 1}, at.empty());
  }
  double const began = ring_.since_made();
  sampler.give(together);
  if (!g.empty()) g.front().began = began, g.front().ended = ring_.since_made();
}
void load_stages::finish(load_group& g) {
  for (load_job& j : g) t_.sampler.inside().finish(j.drawn->inside());
  if (g.empty() || !t_.o.keep_times) return;
  load_job& first = g.front();
  first.sampled = stage_of(first.drawn->inside().begun, g.back().drawn->inside().done, first.began, first.ended - first.began);
}
id_span load_stages::ids_of(load_job const& j, std::size_t table) const {
  loaded_table const& t = t_.tables[table];
  if (t.relation) {
    auto const& e = j.drawn->inside().relations[*t.relation].seen;
    return {e.edge, e.count, 8};
  }
  auto const& v = j.drawn->inside().types[t.seeds_only ? t_.o.seed_type : t.type].seen;
  std::uint64_t seeds = j.count;
  if (j.own) {
    auto const mine = std::find_if(j.own->begin(), j.own->end(), [&](own_seeds const& s) { return s.type == t_.o.seed_type; });
    seeds = mine == j.own->end() ? 0 : mine->seeds.size();
  }
  return {v.ids, t.seeds_only ? seeds : v.count, 8};
}
void load_stages::enter(load_group& g) {
  for (load_job& j : g)
    for (std::size_t k = 0; k < caches_.size(); ++k)
      if (caches_[k]) caches_[k]->enter(t_.x, ids_of(j, k));
}
void load_stages::enter_no_more() {
  for (auto const& c : caches_)
    if (c) c->end();
}
void load_stages::fetch(load_group& g) {
  if (g.empty() || std::exchange(g.front().asked_for, true)) return;
  g.front().fetched.resize(windows_.size()), g.rows.resize(windows_.size());
  for (std::size_t k = 0; k < windows_.size(); ++k) {
    if (!windows_[k]) continue;
    row_window& w = *windows_[k];
    std::vector<id_span> ids;
    for (load_job const& j : g) ids.push_back(ids_of(j, k));
    auto const clock = steady::now();
    auto const span = std::make_shared<fetch_span>();
    span->began = ring_.since_made();
    span->begun.record(w.at());
    auto [run, rows] = w.fetch(ids);
    span->done.record(w.at());
    span->ms = ms_since(clock);
    g.front().fetched[k] = span;
    g.rows[k] = std::move(rows);
    span->run = run, span->row_bytes = t_.tables[k].table->row_bytes();
  }
}
void load_stages::choose(load_group const& g) {
  if (g.empty() || !std::exchange(chooses_window_, false)) return;
  double vertices = 0, edges = 0, rows = 0, brought = 0;
  for (load_job const& j : g) {
    double all = 0, drawn = 0;
    for (auto const& t : j.drawn->inside().types) all += static_cast<double>(t.seen.count);
    for (auto const& e : j.drawn->inside().relations) drawn += static_cast<double>(e.seen.count);
    vertices = std::max(vertices, all), edges = std::max(edges, drawn);
  }
  for (std::size_t k = 0; k < windows_.size(); ++k) {
    if (!windows_[k]) continue;
    double most = 0;
    for (load_job const& j : g) most = std::max(most, static_cast<double>(ids_of(j, k).size()));
    fetch_span const& of = *g.front().fetched[k];
    rows += most;
    brought += static_cast<double>((of.run.fetched + of.run.left_far) * of.row_bytes) / static_cast<double>(g.size());
  }
  constexpr std::uint64_t most_of_host = std::uint64_t{4} << 30;
  std::uint64_t const free =
      t_.x.on_device() ? left_on_device(t_.x.device()) : std::min({host_budget().left(), host_memory_now().free(), most_of_host});
  auto const most = static_cast<double>(window_bytes()) * static_cast<double>(windows_.size());
  window_need const need = need_of_window(t_.sampler.inside().bytes_each(), vertices, edges, rows, brought, most);
  window_ = std::max(choose_window(need, static_cast<double>(free)), t_.o.window);
}
void load_stages::drop(load_group& g) {
  for (load_job& j : g)
    if (j.drawn) {
      t_.sampler.inside().discard(j.drawn->inside());
      ring_.give_back(std::move(j.drawn));
    }
  g.clear(), g.rows.clear();
}

// --- a mini-batch ---
bool load_stages::hand_over(load_job& j, load_group& of) {
  load_ring::slot const r = ring_.free_slot(t_.o.prefetch);
  if (!r) return false;
  bool gathered = false;
  try {
    gathered = gather(*r, j, of);
  } catch (...) {
    ring_.give_back(r);
    throw;
  }
  if (!gathered) return ring_.give_back(r), false;
  note_bytes();
  ring_.deliver(r, j.ends);
  return true;
}
bool load_stages::counts_rows() const {
  for (std::size_t k = 0; k < tier_of_.size(); ++k)
    if (!tier_of_[k] && !t_.tables[k].seeds_only) return true;
  return false;
}
bool load_stages::gather(mini_batch::parts& r, load_job& j, load_group& of) {
  executor& x = t_.x;
  r.each_use([&](auto& use) { use.done.before(x); });
  tell(r);
  if (r.drawn) {
    // The sampler may overwrite the subgraph only after the work of its last holder.
    r.each_use([&](auto& use) { use.done.before(t_.sampler.inside().at()); });
    ring_.give_back(std::move(r.drawn));
  }
  std::size_t const tables = t_.tables.size();
  r.device = x.device();
  r.rooms.resize(tables), r.rows.resize(tables);
  r.of_files.assign(tables, {});
  r.file_waited_ms = 0;
  if (r.counts.empty()) {
    std::uint64_t const n = tier_count * tables;
    r.counts_here = {tier::host, n, x.device(), "hits of a mini-batch"};
    r.counts = {x.near(), n, x.device(), "hits of a mini-batch"};  // allocated last and tested: an interrupt may come before
  }
  for (auto& rows : of.rows)
    if (rows) rows.use(x);
  x.let_go();
  auto const clock = steady::now();
  r.gather_began = ring_.since_made();
  r.begun.record(x);
  if (counts_rows()) x.fill(r.counts.data(), 0, r.counts.bytes());
  for (std::size_t k = 0; k < tables; ++k)
    if (!gather_table(r, j, of, k)) return false;
  if (counts_rows()) x.copy(r.counts_here.data(), r.counts.data(), r.counts.bytes());
  r.ready.record(x);
  r.gather_ms = ms_since(clock);
  r.epoch = j.epoch, r.index = j.index, r.seeds = j.count;
  if (r.order != j.order) x.keep(std::exchange(r.order, j.order));  // readers use its positions until then
  r.positions = j.order ? j.order->positions.data() + j.first : nullptr;
  r.drawn = std::move(j.drawn);
  r.fetched = std::move(j.fetched);
  r.times = {r.epoch, r.index, j.sampled, {}, {}, 0};
  std::lock_guard const hold(ring_.mutex);
  r.handed = r.told = false, r.times_at.reset();
  return true;
}
bool load_stages::gather_table(mini_batch::parts& r, load_job& j, load_group& of, std::size_t k) {
  executor& x = t_.x;
  loaded_table const& t = t_.tables[k];
  id_span ids = ids_of(j, k);
  if (t.by) ids = {r.rooms[*t.by].data(), ids.size(), static_cast<std::uint32_t>(r.rows[*t.by].row_bytes)};
  element const to = tensor_access::written(*t.table, t.to);
  std::uint64_t const row_bytes = t.table->width() * bytes_of(to), bytes = ids.size() * row_bytes;
  grow(x, r.rooms[k], bytes, bytes + bytes / 8, "rows of a mini-batch");  // orders x behind all readers of the old contents
  r.rows[k] = {r.rooms[k].data(), ids.size(), row_bytes, to};
  if (ids.size() == 0 && !caches_[k]) return true;
  if (!t.seeds_only && !tier_of_[k]) {
    batch_list one;
    one.add(ids, nullptr);
    count_hits(x, tensor_access::view(*t.table), one, r.counts.data() + k * tier_count);
  }
  tensor_access::require_peers(*t.table);
  if (windows_[k] || caches_[k]) {
    gather_how how;
    how.strategy = gather_strategy::aligned, how.kind = t.table->kind(), how.to = to;
    how.scales = to != how.kind && how.kind == element::i8 ? tensor_access::scales(*t.table) : nullptr;
    gather_from(x, windows_[k] ? of.rows[k].use(x) : tensor_access::view(*t.table), ids, r.rooms[k].data(), how);
    if (!caches_[k]) return true;
    auto const stopped = [&] { return ring_.stopped(); };
    if (!caches_[k]->gather(x, r.rooms[k].data(), how, stopped, r.of_files[k])) return false;
    r.file_waited_ms += r.of_files[k].waited_ms;
    return true;
  }
  gather_options how;
  how.to = t.to;
  how.stream = stream_ref::of_address(x.stream());
  if (t_.o.strategy == load_strategy::staged) how.strategy = gather_strategy::staged;
  if (t_.o.strategy == load_strategy::zero_copy)
    how.strategy = gather_strategy::shifted, how.order = gather_order::none, how.duplicates = gather_duplicates::repeat;
  t.table->gather(ids, {r.rooms[k].data(), r.rooms[k].bytes()}, how);
  return true;
}
void load_stages::tell(mini_batch::parts& r) {
  std::lock_guard const one(r.telling);  // keeps the figures of r until they are summed; other mini-batches need not wait
  {
    std::lock_guard const hold(ring_.mutex);
    if (!r.handed || r.told) return;
  }
  r.ready.wait();
  for (auto const& f : r.fetched)
    if (f) f->done.wait();
  std::lock_guard const hold(ring_.mutex);
  if (std::exchange(r.told, true)) return;
  bool const asynchronous = t_.x.asynchronous();
  load_report& all = ring_.report;
  sampled_subgraph::parts const& b = r.drawn->inside();
  all.sample_ms += b.ms;
  for (auto const& t : b.types) all.nodes += t.seen.count;
  for (auto const& e : b.relations) all.edges += e.seen.count;
  all.gather_ms += asynchronous ? r.begun.ms_until(r.ready) : r.gather_ms;
  for (auto const& f : r.fetched) {
    if (!f) continue;
    all.fetch_ms += asynchronous ? f->begun.ms_until(f->done) : f->ms;
    all.window_rows += f->run.far - f->run.fetched - f->run.left_far, all.fetched_rows += f->run.fetched;
    all.remote_bytes += (f->run.fetched + f->run.left_far) * f->row_bytes;
  }
  for (std::size_t k = 0; k < tier_of_.size(); ++k) {
    std::array<std::uint64_t, tier_count> rows{};
    if (t_.tables[k].seeds_only) continue;
    if (tier_of_[k]) rows[static_cast<std::size_t>(*tier_of_[k])] = r.rows[k].count;
    else std::copy_n(r.counts_here.data() + k * tier_count, tier_count, rows.data());
    for (std::size_t t = 0; t < tier_count; ++t) all.rows[static_cast<tier>(t)] += rows[t];
    std::uint64_t const row_bytes = t_.tables[k].table->row_bytes();
    if (!windows_[k] && t_.x.where().kind != device_kind::cpu)
      all.remote_bytes += (rows[static_cast<std::size_t>(tier::host)] + rows[static_cast<std::size_t>(tier::file)]) * row_bytes;
    all.file_hits += r.of_files[k].hits, all.file_reads += r.of_files[k].reads, all.file_bytes += r.of_files[k].bytes;
  }
  all.file_waited_ms += r.file_waited_ms;
  if (!r.times_at) return;
  r.times.gather = stage_of(r.begun, r.ready, r.gather_began, r.gather_ms);
  for (auto const& f : r.fetched)
    if (f) r.times.fetch = stage_of(f->begun, f->done, f->began, f->ms);
  all.times[*r.times_at] = r.times;
}

}  // namespace garner
