// Results of garner bench, read back and drawn: any text is errc::input or becomes a page that executes nothing from it.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "bench/page.hpp"
#include "garner/error.hpp"

namespace {

template <class F>
void refused_or_drawn(F page_of_text) {
  using namespace garner;
  try {
    std::string const page = page_of_text();
    if (page.find("<script") != std::string::npos || page.find("<img") != std::string::npos) std::abort();
  } catch (error const& e) {
    if (e.code() != errc::input) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace garner;
  std::string const text(reinterpret_cast<char const*>(data), size);
  refused_or_drawn([&] {
    bench::run_file const run = bench::parse_run(text, "run.json");
    bench::parse_run(bench::to_json(run), "again");  // a parsed run can be written
    return bench::page_of({{"run.json", run}});
  });
  refused_or_drawn([&] {
    bench::load_file const loads = bench::parse_loads(text, "loads.json");
    bench::parse_loads(bench::to_json(loads), "again");
    return bench::page_of({}, {}, {}, {{"loads.json", loads}});
  });
  refused_or_drawn([&] {
    bench::train_file const trainings = bench::parse_trainings(text, "trainings.json");
    if (!trainings.alone) bench::parse_trainings(bench::to_json(trainings), "again");
    return bench::page_of({}, {}, {}, {}, {{"trainings.json", trainings}});
  });
  return 0;
}
