// Rows read by several threads with a ring each, for drives that together give more than one thread can take.
// What is submitted is cut into as many runs of neighbours as there are threads; what has come, from whichever, is told by wait(). Whatever
// a thread throws is thrown by the next wait(), and by all after it.
#pragma once
#include <functional>
#include <memory>

#include "features/stored_rows.hpp"

namespace garner {

// `make`: reads of one thread, used by that thread alone once it was made.
std::unique_ptr<row_reads> reads_by_threads(unsigned threads, std::function<std::unique_ptr<row_reads>()> const& make);

}  // namespace garner
