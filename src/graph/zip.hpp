// A zip archive, as numpy.savez and torch.save write it: its directory, and a member's bytes in a row, stored or deflated.
// Invariant: a member gives as many bytes as the directory says, with the checksum that it says, or throws. Sizes are held against the file
// before anybody takes memory for them. Cost: one pass through a member; 256 KiB.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace garner {

class zip_file {
 public:
  explicit zip_file(std::filesystem::path const& path);  // errc::io where it cannot be opened, errc::input where it is none
  ~zip_file();
  zip_file(zip_file&&) noexcept;
  zip_file& operator=(zip_file&&) = delete;

  struct entry {
    std::string name;
    std::uint64_t packed = 0, size = 0, at = 0;  // bytes in the file, bytes unpacked, where its local header begins
    std::uint32_t checksum = 0;
    bool deflated = false;
  };
  std::string const& name() const;
  std::vector<entry> const& entries() const;
  entry const* find(std::string const& name) const;  // null where there is none

  // Reads one member in a row; refers to the archive, which must outlive it.
  class member {
   public:
    member(zip_file const& in, entry const& of);
    ~member();
    member(member const&) = delete;
    member& operator=(member const&) = delete;
    std::uint64_t size() const;
    std::uint64_t position() const;
    void read(void* to, std::uint64_t n);  // errc::input where so much is not left, or the bytes are damaged

   private:
    struct state;
    std::unique_ptr<state> state_;
  };

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace garner
