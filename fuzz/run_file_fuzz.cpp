// Results of garner-lab, read back and drawn: any text is errc::input or becomes a page that executes nothing from it.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "garner/error.hpp"
#include "lab/page.hpp"

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
    lab::run_file const run = lab::parse_run(text, "run.json");
    lab::parse_run(lab::to_json(run), "again");  // a parsed run can be written
    return lab::page_of({{"run.json", run}});
  });
  refused_or_drawn([&] {
    lab::load_file const loads = lab::parse_loads(text, "loads.json");
    lab::parse_loads(lab::to_json(loads), "again");
    return lab::page_of({}, {}, {}, {{"loads.json", loads}});
  });
  refused_or_drawn([&] {
    lab::train_file const trainings = lab::parse_trainings(text, "trainings.json");
    if (!trainings.alone) lab::parse_trainings(lab::to_json(trainings), "again");
    return lab::page_of({}, {}, {}, {}, {{"trainings.json", trainings}});
  });
  return 0;
}
