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
    lab::bench_files files;
    files.add(text, "run.json");
    // A file that was read can be written, and read again.
    auto const again = [](auto const& some) {
      for (auto const& [name, run] : some) lab::bench_files().add(lab::to_json(run), "again");
    };
    again(files.runs), again(files.tierings), again(files.gathers), again(files.loads), again(files.storages), again(files.shards);
    if (!files.trainings.empty() && !files.trainings[0].run.alone) again(files.trainings);
    return lab::page_of({.runs = files.runs, .loads = files.loads, .trainings = files.trainings});
  });
  return 0;
}
