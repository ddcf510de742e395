// Algorithms over adjacency in a file whose drive fails: right results or an error that names file and place.
#include "traverse/file_tier.hpp"

#include <thread>

#include "core/progress.hpp"

namespace garner {
namespace {
using namespace testing;

simulated_drive holding_it(std::string const& file, std::vector<drive_fault> faults) {
  simulated_drive like;
  like.faults = std::move(faults);
  return holding(file, like);
}

struct file_faults : file_tier {
  std::string file;
  void SetUp() override {
    file_tier::SetUp();
    file = saved(generated(generator::kron, 13));
  }
  graph with(std::vector<drive_fault> faults, bool check = true) const {
    return load(file, {}, tier::file, small_window, simulate({holding_it(file, std::move(faults))}), check);
  }
  static std::string run_pagerank(graph const& g, errc& code) {
    pagerank_job job(g, {});
    return error_of([&] { job.run(); }, &code);
  }
};

TEST_F(file_faults, an_error_of_the_drive_names_file_and_place) {
  drive_fault f;
  f.every = 3;
  graph const far = with({f});
  errc code{};
  std::string const text = run_pagerank(far, code);
  EXPECT_EQ(code, errc::io);
  EXPECT_NE(text.find("bytes at byte"), std::string::npos) << text;
  EXPECT_NE(text.find("Input/output error"), std::string::npos) << text;
}

TEST_F(file_faults, short_and_late_reads_and_answers_twice_change_nothing) {
  std::vector<drive_fault> faults(3);
  faults[0].what = drive_fault::kind::short_read, faults[0].every = 5;
  faults[1].what = drive_fault::kind::twice, faults[1].every = 7;
  faults[2].what = drive_fault::kind::late, faults[2].every = 11, faults[2].seconds = 0.002;
  graph const far = with(faults), near = load(file, {}, tier::host);
  pagerank_job job(far, {}), twin(near, {});
  job.run(), twin.run();
  EXPECT_EQ(job.ranks(), twin.ranks());
  bfs_job search(far, {}), same(near, {});
  std::uint64_t const source = pick_sources(near, 1, 1)[0];
  search.run(source), same.run(source);
  EXPECT_EQ(search.depths(), same.depths());
}

TEST_F(file_faults, a_wrong_bit_is_an_error) {
  drive_fault f;
  f.what = drive_fault::kind::wrong_bit, f.every = 4;
  graph const checked = with({f});
  errc code{};
  std::string const text = run_pagerank(checked, code);
  EXPECT_EQ(code, errc::input);
  EXPECT_NE(text.find("are not what was read before"), std::string::npos) << text;
}

TEST_F(file_faults, targets_beyond_the_vertices_are_found_without_checksums) {
  for (bool packed : {false, true}) {
    graph g = random_graph(6, 4, true, weight_kind::none);
    if (packed) pack(g);
    std::string const bad = saved(g, "bad.gnr");
    container_header const h = read_header(bad);
    std::uint64_t at = 0;
    for (container_section const& s : h.sections)
      if (s.kind == (packed ? section_kind::out_target_words : section_kind::out_targets)) at = s.offset + 40000 / (packed ? 2 : 1);
    {
      std::fstream out(bad, std::ios::in | std::ios::out | std::ios::binary);
      out.seekp(static_cast<std::streamoff>(at));
      std::string const damage(64, '\xff');
      out.write(damage.data(), 64);
    }
    EXPECT_NE(error_of([&] { load(bad, {}, tier::file); }).find("damaged"), std::string::npos);
    graph const far = load(bad, {}, tier::file, small_window, {}, false);
    errc code{};
    components_job job(far, {});
    std::string const text = error_of([&] { job.run(); }, &code);
    EXPECT_EQ(code, errc::input);
    EXPECT_NE(text.find("leads beyond the"), std::string::npos) << text;
  }
}

TEST_F(file_faults, a_file_that_is_written_to_or_cut_meanwhile) {
  graph const far = load(file, {}, tier::file, small_window);
  pagerank_job job(far, {});
  job.run();
  {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(5000);
    out.write("\1\2\3\4", 4);
  }
  errc code{};
  std::string text = error_of([&] { job.run(); }, &code);
  EXPECT_EQ(code, errc::input) << text;
  EXPECT_NE(text.find("g.gnr"), std::string::npos) << text;
  std::filesystem::resize_file(file, 20000);
  text = error_of([&] { job.run(); }, &code);
  EXPECT_NE(text.find("g.gnr"), std::string::npos) << text;
}

TEST_F(file_faults, an_interrupt_stops_reads_that_are_never_answered) {
  drive_fault f;
  f.what = drive_fault::kind::never, f.every = 2;
  graph const far = with({f});
  pagerank_job job(far, {});
  std::jthread const user([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    request_interrupt();
  });
  errc code{};
  auto const start = std::chrono::steady_clock::now();
  error_of([&] { job.run(); }, &code);
  EXPECT_EQ(code, errc::interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  clear_interrupt();
}

}  // namespace
}  // namespace garner
