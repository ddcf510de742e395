#!/usr/bin/env python3
"""Garner's queues of NVMe on QEMU's own devices of NVMe, in a guest under software emulation.

  tests/lab/nvme_qemu_test.py BUILD                skips (77) where QEMU or a kernel is missing, and says what to do
  tests/lab/nvme_qemu_test.py --get-kernel BUILD   fetches Debian's cloud kernel with apt-get into BUILD/guest; no root needed

The guest is a kernel and one program, build/tests/nvme_guest, with the libraries it needs.
"""
import glob
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile


def skip(why):
    print(f"[  SKIPPED ]\nSkipped\n{why}")  # as the counting of skipped tests reads it
    sys.exit(77)


def get_kernel(build):
    folder = os.path.join(os.path.abspath(build), "guest")
    os.makedirs(folder, exist_ok=True)
    shown = subprocess.run(["apt-cache", "depends", "linux-image-cloud-amd64"], capture_output=True, text=True, check=True).stdout
    package = re.search(r"Depends: (linux-image-\S+)", shown).group(1)
    subprocess.run(["apt-get", "download", package], cwd=folder, check=True)
    for package in glob.glob(f"{folder}/*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, f"{folder}/package"], check=True)
        os.unlink(package)
    for kernel in glob.glob(f"{folder}/package/boot/vmlinuz*"):
        shutil.copy(kernel, folder)
    shutil.rmtree(f"{folder}/package")
    print(*glob.glob(f"{folder}/vmlinuz*"))


def kernel_of(build):
    named = os.environ.get("GARNER_GUEST_KERNEL")
    for kernel in [named] if named else sorted(glob.glob(f"{build}/guest/vmlinuz*") + glob.glob("/boot/vmlinuz-*"), reverse=True):
        if os.access(kernel, os.R_OK):
            return kernel
    skip("no kernel for the guest: tests/lab/nvme_qemu_test.py --get-kernel BUILD fetches Debian's, or name one by GARNER_GUEST_KERNEL")


def entry(name, mode, data=b"", inode=[0]):
    """One file of an archive that the kernel extracts (cpio, newc)."""
    inode[0] += 1
    raw = name.encode() + b"\0"
    head = "070701" + "".join(f"{v:08X}" for v in (inode[0], mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0))
    pad = lambda b: b + b"\0" * (-len(b) % 4)
    return pad(head.encode() + raw) + pad(data)


def archive(program, folder):
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    libraries = {re.search(r"(/\S+)", line).group(1) for line in needed.splitlines() if "/" in line}
    made, folders = b"", set()

    def put(source, target):
        nonlocal made
        stripped = os.path.join(folder, "stripped")
        if subprocess.run(["strip", "-o", stripped, source], capture_output=True).returncode:
            stripped = source
        parts = target.strip("/").split("/")
        for k in range(1, len(parts)):
            if (path := "/".join(parts[:k])) not in folders:
                folders.add(path)
                made += entry(path, 0o40755)
        made += entry("/".join(parts), 0o100755, open(stripped, "rb").read())

    put(program, "/init")
    for library in sorted(libraries):
        # Libraries of the build go to a folder that the dynamic loader searches by default.
        put(library, library if library.startswith(("/lib", "/usr/lib")) else "/usr/lib/" + os.path.basename(library))
    return gzip.compress(made + entry("TRAILER!!!", 0), 1)


def main(build):
    qemu = shutil.which("qemu-system-x86_64") or skip("no QEMU: apt-get install qemu-system-x86")
    if os.uname().machine != "x86_64":
        skip("the guest is made of this machine's programs, and is one of x86_64")
    kernel = kernel_of(build)
    program = os.path.join(build, "tests", "nvme_guest")
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/initrd", "wb") as out:
            out.write(archive(program, folder))
        size = 16 << 20
        subprocess.run([program, "--image", f"{folder}/image", str(size)], check=True)
        with open(f"{folder}/faults", "w") as out:  # reads that touch byte 65536 fail, always
            out.write('[inject-error]\nevent = "none"\niotype = "read"\nerrno = "5"\nsector = "128"\nonce = "off"\n')
        image = f"file={folder}/image,format=raw,if=none,readonly=off,cache=unsafe,file.locking=off"
        failing = f"file.driver=blkdebug,file.config={folder}/faults,file.image.driver=file,file.image.filename={folder}/image"
        command = [qemu, "-machine", "q35,accel=tcg", "-cpu", "max", "-smp", "2", "-m", "512", "-nodefaults", "-nographic", "-no-reboot",
                   "-serial", "stdio", "-kernel", kernel, "-initrd", f"{folder}/initrd",
                   "-append", "console=ttyS0 quiet panic=-1 loglevel=3 mitigations=off",
                   "-drive", f"{image},id=sound", "-device", "nvme,drive=sound,serial=garner0,addr=4",
                   "-drive", f"{failing},file.image.locking=off,format=raw,if=none,id=failing", "-device", "nvme,drive=failing,serial=garner1,addr=5",
                   "-drive", f"{image},id=slow,throttling.iops-total=10", "-device", "nvme,drive=slow,serial=garner2,addr=6"]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=280, errors="replace", stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as e:
            print((e.stdout or b"").decode(errors="replace"), "\nthe guest did not end within 280 s")
            return 1
        print(ran.stdout.replace("\r", ""), ran.stderr, sep="")
        return 0 if re.search(r"^passed\r?$", ran.stdout, re.M) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--get-kernel"]:
        get_kernel(sys.argv[2])
    else:
        if len(sys.argv) > 2 and sys.argv[2]:
            skip("programs under a sanitizer do not run in the guest")
        sys.exit(main(os.path.abspath(sys.argv[1])))
