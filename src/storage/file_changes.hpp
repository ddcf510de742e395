// Changes of files in place, all or none of them, on a crash too: a journal next to the file names every byte that is written; it appears
// whole, by a rename, before the first byte changes, and goes when all have reached the disk. A journal that a crash left is applied when
// the file is opened next.
// Invariant: a change lies within its file. A journal is applied to the files of which it was written alone (`id`).
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace garner {

struct file_change {
  std::uint32_t file = 0;  // of the files that are changed together
  std::uint64_t offset = 0;
  std::string bytes;
};
using file_id = std::array<std::uint8_t, 16>;

std::string journal_of(std::filesystem::path const& file);
// `file`: the journal lies next to it. The disk has all of the changes when this returns. errc::io: none was made, where it was not the
// disk that failed. `require_current`: called once no other process writes; it throws if what the changes were made from is no longer so.
void change_files(
    std::filesystem::path const& file, std::vector<std::string> const& files, file_id const& id, std::vector<file_change> const& changes,
    std::function<void()> const& require_current = [] {});
// What a journal next to `file` says is done, if there is one; waits for a process that is writing it. `of`: the files, and their id.
struct changed_files {
  std::vector<std::string> files;
  file_id id{};
};
using files_of = changed_files (*)(std::filesystem::path const& file);
void finish_changes(std::filesystem::path const& file, files_of of);
changed_files itself_alone(std::filesystem::path const& file);  // a file without an id of its own: its inode, and its size

// For tests, which end the process there: called between the steps of a change.
inline void (*between_changes)() = nullptr;

}  // namespace garner
