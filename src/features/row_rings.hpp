// Rows read by several threads with a ring each, for drives that together exceed the rate of one thread. Submitted reads are cut into as
// many contiguous segments as there are threads; wait() returns completions of any thread. If a thread throws, the next wait() rethrows it,
// and so do all later ones.
#pragma once
#include <functional>
#include <memory>

#include "features/stored_rows.hpp"

namespace garner {

// `make`: reads of one thread, used by that thread alone once it was made.
std::unique_ptr<row_reads> reads_by_threads(unsigned threads, std::function<std::unique_ptr<row_reads>()> const& make);

}  // namespace garner
