// Mini-batches that callers and streams keep, and a loader that goes before them.
#include <thread>

#include "load/world.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class loader_at : public at_place {};
GARNER_AT_EVERY_PLACE(loader_at);

// Its resources are freed with the loader, or with their last owner.
TEST_P(loader_at, keeps_what_a_stream_reads_until_it_has_read_it_when_the_loader_goes) {
  world w(where(), 0);
  executor x(where()), reader(where());
  for (bool const goes_first : {true, false}) {
    loader_options o;
    o.batch_size = 64, o.prefetch = 1, o.shuffle = false;
    std::optional<loader> l(w.load(1000, o));
    buffer<std::uint8_t> const busy(x.near(), x.on_device() ? 256u << 20 : 1, x.device(), "a test");
    std::optional<mini_batch> b = l->next(stream_ref::of_address(reader.stream()));
    std::vector<std::int64_t> const ids = host_copy(x, b->subgraph().of_type(0).ids, b->subgraph().of_type(0).count);
    buffer<float> const rows(x.near(), ids.size() * width, x.device(), "a test");
    for (int k = 0; k < 40; ++k) reader.fill(busy.data(), k, busy.bytes());
    reader.copy(rows.data(), b->of_table(0).data, rows.bytes());
    if (goes_first) l.reset();
    b.reset();
    l.reset();
    std::vector<float> const seen = host_copy(reader, rows.data(), rows.size());
    for (std::size_t k = 0; k < seen.size(); ++k)
      ASSERT_EQ(seen[k], static_cast<float>(static_cast<std::uint64_t>(ids[k / width]) * width + k % width)) << goes_first;
  }
}

// Mini-batches that are kept, returned late or never requested.
TEST_P(loader_at, waits_for_a_caller_that_keeps_what_it_took_and_ends_when_it_stops) {
  world w(where());
  executor x(where());
  loader_options o;
  o.batch_size = 50, o.prefetch = 3;
  loader l = w.load(1000, o);
  std::vector<mini_batch> kept;
  for (int i = 0; i < 9; ++i) kept.push_back(std::move(*l.next()));
  std::vector<taken_batch> before;
  for (mini_batch const& b : kept) before.push_back(taken(x, b));
  std::optional<mini_batch> fourth = l.next();
  fourth.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  for (std::size_t i = 0; i < 9; ++i) EXPECT_TRUE(taken(x, kept[i]) == before[i]);
  kept.erase(kept.begin());
  l.begin(4);
  EXPECT_EQ(l.next()->epoch(), 4u);
  mini_batch outlives = std::move(*l.next());
  loader other = std::move(l);
  { loader const gone = std::move(other); }
  EXPECT_FALSE(taken(x, outlives).ids.empty());
}

// The first one returned is counted first, and the times are still of those that were delivered first.
// The host does not wait for the second stream, which is busy while the buffers would be refilled.
TEST_P(loader_at, keeps_a_mini_batch_until_every_stream_that_uses_it_has_read_it) {
  world w(where(), 0);
  executor x(where()), first(where()), second(where());
  loader_options o;
  o.batch_size = 64, o.prefetch = 1, o.shuffle = false;
  loader l = w.load(1000, o);
  std::uint64_t const batches = l.batches();
  buffer<std::uint8_t> const busy(x.near(), x.on_device() ? 256u << 20 : 1, x.device(), "a test");
  std::vector<std::vector<std::int64_t>> ids;
  std::vector<buffer<float>> rows;
  while (std::optional<mini_batch> b = l.next(stream_ref::of_address(first.stream()))) {
    for (int k = 0; k < 40; ++k) second.fill(busy.data(), k, busy.bytes());
    b->use_on(stream_ref::of_address(second.stream()));
    ids.push_back(host_copy(x, b->subgraph().of_type(0).ids, b->subgraph().of_type(0).count));
    rows.emplace_back(x.near(), ids.back().size() * width, x.device(), "a test");
    second.copy(rows.back().data(), b->of_table(0).data, rows.back().bytes());
    b->use_on(stream_ref::of_address(first.stream()));  // already registered
  }
  second.wait();
  ASSERT_EQ(ids.size(), batches);
  for (std::size_t b = 0; b < ids.size(); ++b) {
    std::vector<float> const seen = host_copy(x, rows[b].data(), ids[b].size() * width);
    for (std::size_t k = 0; k < seen.size(); ++k)
      ASSERT_EQ(seen[k], static_cast<float>(static_cast<std::uint64_t>(ids[b][k / width]) * width + k % width)) << "mini-batch " << b;
  }
}

}  // namespace
}  // namespace garner
