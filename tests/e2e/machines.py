"""Made-up machines as hwloc XML, for nodes that none of the generated topologies is like."""


def flat_machine(gpus, cores=40, memory_gib=256):
    """One package, and GPUs below one host bridge that are all alike."""
    numbers = iter(range(1, 10_000))

    def bits(count, first=0):
        mask, words = ((1 << count) - 1) << first, []
        while mask or not words:
            words.append(f"0x{mask & 0xffffffff:08x}")
            mask >>= 32
        return ",".join(reversed(words))

    def sets(cpus):
        return (f'cpuset="{cpus}" complete_cpuset="{cpus}" nodeset="0x1" complete_nodeset="0x1" '
                f'gp_index="{next(numbers)}"')

    memory = memory_gib << 30
    out = ['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">', '<topology version="2.0">',
           f'<object type="Machine" os_index="0" {sets(bits(cores))} allowed_cpuset="{bits(cores)}" allowed_nodeset="0x1">',
           '<info name="Backend" value="Linux"/>', f'<object type="Package" os_index="0" {sets(bits(cores))}>',
           f'<object type="NUMANode" os_index="0" {sets(bits(cores))} local_memory="{memory}">',
           f'<page_type size="4096" count="{memory // 4096}"/>', "</object>"]
    for i in range(cores):
        out += [f'<object type="Core" os_index="{i}" {sets(bits(1, i))}>',
                f'<object type="PU" os_index="{i}" {sets(bits(1, i))}/>', "</object>"]
    out.append(f'<object type="Bridge" gp_index="{next(numbers)}" bridge_type="0-1" depth="0" bridge_pci="0000:[00-00]">')
    for i in range(gpus):
        out += [f'<object type="PCIDev" gp_index="{next(numbers)}" pci_busid="0000:00:{i + 1:02x}.0" '
                'pci_type="0302 [10de:26b9] [10de:1851] a1" pci_link_speed="31.507692">',
                f'<object type="OSDev" gp_index="{next(numbers)}" name="nvml{i}" subtype="NVML" osdev_type="1">',
                '<info name="Backend" value="NVML"/>', '<info name="GPUVendor" value="NVIDIA Corporation"/>',
                '<info name="GPUModel" value="NVIDIA L40S"/>',
                f'<info name="NVIDIAUUID" value="GPU-00000000-0000-4000-8000-{i:012x}"/>', "</object>", "</object>"]
    return "\n".join([*out, "</object>", "</object>", "</object>", "</topology>", ""])
