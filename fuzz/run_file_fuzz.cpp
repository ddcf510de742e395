// What garner bench writes, read back and drawn: any text is either refused with errc::input or becomes a page in which nothing of it runs.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "bench/page.hpp"
#include "garner/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace garner;
  try {
    bench::run_file const run = bench::parse_run(std::string(reinterpret_cast<char const*>(data), size), "run.json");
    std::string const page = bench::page_of({{"run.json", run}});
    if (page.find("<script") != std::string::npos || page.find("<img") != std::string::npos) std::abort();
    bench::parse_run(bench::to_json(run), "again");  // what is read can be written
  } catch (error const& e) {
    if (e.code() != errc::input) std::abort();
  }
  return 0;
}
