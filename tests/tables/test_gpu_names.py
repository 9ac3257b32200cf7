"""Names that drivers print: each finds a row with its PCI id, or none; never the row of another board.

Names and ids come from the list of released boards in NVIDIA's open kernel modules, and from public nvidia-smi output.
"""

from __future__ import annotations

import pytest

from envkit.tables import Matrix

# device id -> names that drivers print for it
PRINTED: dict[str, tuple[str, ...]] = {
    "13BD": ("GRID M10-0B", "GRID M10-8Q", "GRID M10-2B4", "Tesla M10"),
    "13F2": ("GRID M60-8Q", "GRID M60-1A", "GRID M60-1B4", "Tesla M60"),
    "13F3": ("GRID M6-8Q", "GRID M6-2B", "Tesla M6"),
    "15F7": ("GRID P100C-12Q", "GRID P100C-6C", "GRID P100C-1B4", "Tesla P100-PCIE-12GB"),
    "15F8": ("GRID P100-16Q", "GRID P100-8C", "GRID P100-2B4", "Tesla P100-PCIE-16GB"),
    "15F9": ("GRID P100X-16C", "GRID P100X-1A", "Tesla P100-SXM2-16GB"),
    "1B38": ("GRID P40-24Q", "GRID P40-24C", "GRID P40-1B4", "GRID P40-3A", "Tesla P40"),
    "1BB3": ("GRID P4-8Q", "GRID P4-4C", "Tesla P4"),
    "1BB4": ("GRID P6-16Q", "GRID P6-8C", "Tesla P6"),
    "1DB1": ("GRID V100X-16Q", "GRID V100X-4C", "GRID V100X-2B4", "Tesla V100-SXM2-16GB", "Tesla V100-SXM2-16GB-LS"),
    "1DB3": ("GRID V100L-16Q", "GRID V100L-8C", "Tesla V100-FHHL-16GB"),
    "1DB4": ("GRID V100-16Q", "GRID V100-4C", "Tesla V100-PCIE-16GB"),
    "1DB5": ("GRID V100DX-32Q", "GRID V100DX-16C", "Tesla V100-SXM2-32GB", "Tesla V100-SXM2-32GB-LS"),
    "1DB6": ("GRID V100D-32Q", "GRID V100D-8C", "GRID V100D-1B4", "Tesla V100-PCIE-32GB"),
    "1DB7": ("Tesla V100-DGXS-32GB",),
    "1DB2": ("Tesla V100-DGXS-16GB",),
    "1DB8": ("Tesla V100-SXM3-32GB", "Tesla V100-SXM3-32GB-H"),
    "1DF6": ("GRID V100S-32Q", "GRID V100S-4C", "Tesla V100S-PCIE-32GB"),
    "1E30": ("GRID RTX6000-24Q", "GRID RTX6000-24", "GRID RTX6000-1A", "GRID RTX8000-48Q", "GRID RTX8000-16")
    + ("GRID RTX8000-12C", "Quadro RTX 6000", "Quadro RTX 8000"),
    "1E78": ("GRID RTX6000P-24Q", "GRID RTX6000P-6", "GRID RTX8000P-48C", "GRID RTX8000P-2B"),
    "1EB8": ("GRID T4-16Q", "GRID T4-1B4", "GRID T4-8C", "GRID RTX T4-16", "Tesla T4", "NVIDIA T4"),
    "1EB4": ("NVIDIA T4G",),
    "20B0": (
        "GRID A100X-40C",
        "GRID A100X-3-20C",
        "GRID A100X-1-5CME",
        "NVIDIA A100-SXM4-40GB",
        "NVIDIA A100-PG509-200",
    )
    + ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA A100-SXM4-40GB MIG 7g.40gb", "A100-SXM4-40GB"),
    "20B2": ("GRID A100DX-80C", "GRID A100DX-1-10CME", "GRID A100DX-7-80C", "NVIDIA A100-SXM4-80GB", "NVIDIA PG509-210")
    + ("NVIDIA A100-SXM4-80GB MIG 1g.10gb+me", "NVIDIA A100-SXM4-80GB MIG 3g.40gb"),
    "20B3": ("NVIDIA A100-SXM-64GB",),
    "20B5": ("GRID A100D-80C", "GRID A100D-3-40C", "NVIDIA A100 80GB PCIe", "NVIDIA A100 80GB PCIe MIG 1c.3g.40gb"),
    "20B6": ("NVIDIA PG506-230", "NVIDIA PG506-232"),
    "20B7": ("NVIDIA A30-24C", "NVIDIA A30-1-6C", "NVIDIA A30-2-12CME", "NVIDIA A30", "NVIDIA A30 MIG 1g.6gb"),
    "20B8": ("NVIDIA A100X",),
    "20B9": ("NVIDIA A30X",),
    "20BD": ("NVIDIA A800-SXM4-40GB",),
    "20C2": ("NVIDIA CMP 170HX",),
    "20F1": ("GRID A100-40C", "GRID A100-4-20C", "GRID A100-1-5CME", "NVIDIA A100-PCIE-40GB"),
    "20F3": ("GRID A800DX-80C", "GRID A800DX-1-10C", "NVIDIA A800-SXM4-80GB"),
    "20F5": ("GRID A800D-80C", "GRID A800D-7-80C", "NVIDIA A800 80GB PCIe", "NVIDIA A800 80GB PCIe LC"),
    "20F6": ("GRID A800-40C", "GRID A800-1-5CME", "NVIDIA A800 40GB Active"),
    "2230": ("NVIDIA RTXA6000-48Q", "NVIDIA RTXA6000-1B", "NVIDIA RTXA6000-12", "NVIDIA RTX A6000"),
    "2231": ("NVIDIA RTXA5000-24Q", "NVIDIA RTX A5000"),
    "2233": ("NVIDIA RTXA5500-24C", "NVIDIA RTX A5500"),
    "2235": ("NVIDIA A40-48Q", "NVIDIA A40-8C", "NVIDIA A40"),
    "2236": ("NVIDIA A10-24Q", "NVIDIA A10-4C", "NVIDIA A10-1B", "NVIDIA A10"),
    "2237": ("NVIDIA A10G-24Q", "NVIDIA A10G"),
    "2238": ("NVIDIA A10M",),
    "2321": ("NVIDIA H100 NVL", "NVIDIA H100L-94C"),
    "2322": ("NVIDIA H800 PCIe", "NVIDIA H800-80C"),
    "2324": ("NVIDIA H800", "NVIDIA H800XM-80C", "NVIDIA H800XM-1-10CME"),
    "2329": ("NVIDIA H20", "NVIDIA H20-96C"),
    "232C": ("NVIDIA H20-3e", "NVIDIA H20X-141C"),
    "2330": ("NVIDIA H100 80GB HBM3", "NVIDIA H100XM-80C", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", "H100-SXM5-80GB"),
    "2331": ("NVIDIA H100 PCIe", "NVIDIA H100-80C", "NVIDIA H100-1-10C", "NVIDIA H100 PCIe MIG 1g.10gb"),
    "2335": ("NVIDIA H200", "NVIDIA H200X-141C", "NVIDIA H200 MIG 1g.18gb", "NVIDIA H200 MIG 3g.71gb"),
    "2336": ("NVIDIA H100 96GB HBM3", "NVIDIA H100XL-94C", "NVIDIA H100XL-1-12CME"),
    "2337": ("NVIDIA H100 64GB HBM3", "NVIDIA H100XS-64C"),
    "2339": ("NVIDIA H100",),
    "233A": ("NVIDIA H800 NVL", "NVIDIA H800L-94C"),
    "233B": ("NVIDIA H200 NVL", "NVIDIA H200-141C"),
    "2342": ("NVIDIA GH200 480GB", "NVIDIA GH200 120GB"),
    "2348": ("NVIDIA GH200 144G HBM3e",),
    "25B6": ("NVIDIA A16-16Q", "NVIDIA A16-4C", "NVIDIA A16", "NVIDIA A2-16Q", "NVIDIA A2"),
    "26B1": ("NVIDIA RTX6000-Ada-48Q", "NVIDIA RTX 6000 Ada Generation"),
    "26B3": ("NVIDIA RTX5880-Ada-48C", "NVIDIA RTX 5880 Ada Generation"),
    "26B5": ("NVIDIA L40-48Q", "NVIDIA L40"),
    "26B8": ("NVIDIA L40G",),
    "26B9": ("NVIDIA L40S-48C", "NVIDIA L40S-1B", "NVIDIA L40S"),
    "26BA": ("NVIDIA L20-48Q", "NVIDIA L20"),
    "27B6": ("NVIDIA L2",),
    "27B8": ("NVIDIA L4-24Q", "NVIDIA L4-4C", "NVIDIA L4"),
    "2901": ("NVIDIA B200", "NVIDIA B200-180C", "NVIDIA B200 MIG 1g.23gb"),
    "2941": ("NVIDIA GB200",),
    "2BB5": ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "NVIDIA RTX Pro 6000 Blackwell DC-48Q"),
    "2C3A": ("NVIDIA RTX PRO 4500 Blackwell Server Edition",),
    "2E12": ("NVIDIA GB10", "GB10"),
    "3182": ("NVIDIA B300 SXM6 AC",),
    "31C2": ("NVIDIA GB300",),
    # laptops and embedded boards
    "1BA0": ("NVIDIA GeForce GTX 1080 with Max-Q Design",),
    "1BA1": ("NVIDIA GeForce GTX 1070 with Max-Q Design",),
    "1C20": ("NVIDIA GeForce GTX 1060 with Max-Q Design",),
    "1F99": ("NVIDIA GeForce GTX 1650 with Max-Q Design",),
    "2191": ("NVIDIA GeForce GTX 1660 Ti with Max-Q Design",),
    "1F12": ("NVIDIA GeForce RTX 2060 with Max-Q Design",),
    "1F10": ("NVIDIA GeForce RTX 2070 with Max-Q Design",),
    "1E90": ("NVIDIA GeForce RTX 2080 with Max-Q Design",),
    "1FB8": ("Quadro T2000", "Quadro T2000 with Max-Q Design"),
    "1FB9": ("Quadro T1000", "Quadro T1000 with Max-Q Design"),
    "1FB6": ("NVIDIA T600 Laptop GPU",),
    "1FB7": ("NVIDIA T550 Laptop GPU",),
    "1FBB": ("NVIDIA T500",),
    "1FBC": ("NVIDIA T1200 Laptop GPU",),
    "1D16": ("NVIDIA GeForce MX330",),
    "1F97": ("NVIDIA GeForce MX450",),
    "25A6": ("NVIDIA GeForce MX570",),
    "25AA": ("NVIDIA GeForce MX570 A",),
    "25AB": ("NVIDIA GeForce RTX 3050 4GB Laptop GPU",),
    "25A0": ("NVIDIA GeForce RTX 3050 Ti Laptop GPU", "NVIDIA GeForce RTX 3050Ti Laptop GPU"),
    "25AD": ("NVIDIA GeForce RTX 2050",),
    "2508": ("NVIDIA GeForce RTX 3050 OEM",),
    "2822": ("NVIDIA GeForce RTX 3050 A Laptop GPU",),
    "2438": ("NVIDIA RTX A5500 Laptop GPU",),
    "24B9": ("NVIDIA RTX A3000 12GB Laptop GPU",),
    "24BA": ("NVIDIA RTX A4500 Laptop GPU",),
    "24FA": ("NVIDIA RTX A4500 Embedded GPU",),
    "25B8": ("NVIDIA RTX A2000 Laptop GPU",),
    "25B9": ("NVIDIA RTX A1000 Laptop GPU",),
    "25BA": ("NVIDIA RTX A2000 8GB Laptop GPU",),
    "25BB": ("NVIDIA RTX A500 Laptop GPU",),
    "25BC": ("NVIDIA RTX A1000 6GB Laptop GPU",),
    "25F9": ("NVIDIA RTX A1000 Embedded GPU",),
    "25FA": ("NVIDIA RTX A2000 Embedded GPU",),
    "25FB": ("NVIDIA RTX A500 Embedded GPU",),
    "2770": ("NVIDIA RTX 5000 Ada Generation Embedded GPU",),
    "27FB": ("NVIDIA RTX 3500 Ada Generation Embedded GPU",),
    "28F8": ("NVIDIA RTX 2000 Ada Generation Embedded GPU",),
    "2730": ("NVIDIA RTX 5000 Ada Generation Laptop GPU",),
    "28B0": ("NVIDIA RTX 2000 Ada Generation", "NVIDIA RTX 2000E Ada Generation"),
    "2BB4": ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",),
    "2BB1": ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition",),
    "2BB3": ("NVIDIA RTX PRO 5000 Blackwell", "NVIDIA RTX PRO 5000 72GB Blackwell"),
    "2C38": ("NVIDIA RTX PRO 5000 Blackwell Generation Laptop GPU",),
    "2C39": ("NVIDIA RTX PRO 4000 Blackwell Generation Laptop GPU",),
    "2C77": ("NVIDIA RTX PRO 5000 Blackwell Embedded GPU",),
    "2C79": ("NVIDIA RTX PRO 4000 Blackwell Embedded GPU",),
    "2D39": ("NVIDIA RTX PRO 2000 Blackwell Generation Laptop GPU",),
    "2D79": ("NVIDIA RTX PRO 2000 Blackwell Embedded GPU",),
    "2DB8": ("NVIDIA RTX PRO 1000 Blackwell Generation Laptop GPU",),
    "2DB9": ("NVIDIA RTX PRO 500 Blackwell Generation Laptop GPU",),
    "2F38": ("NVIDIA RTX PRO 3000 Blackwell Generation Laptop GPU",),
    # cards that differ by a word
    "1B06": ("NVIDIA GeForce GTX 1080 Ti", "GeForce GTX 1080 Ti"),
    "1C04": ("NVIDIA GeForce GTX 1060 5GB",),
    "1C02": ("NVIDIA GeForce GTX 1060 3GB",),
    "1C03": ("NVIDIA GeForce GTX 1060 6GB",),
    "1E04": ("NVIDIA GeForce RTX 2080 Ti",),
    "1E81": ("NVIDIA GeForce RTX 2080 SUPER",),
    "1F03": ("NVIDIA GeForce RTX 2060", "NVIDIA GeForce RTX 2060 12GB"),
    "21C4": ("NVIDIA GeForce GTX 1660 SUPER",),
    "2204": ("NVIDIA GeForce RTX 3090", "GeForce RTX 3090"),
    "2487": ("NVIDIA GeForce RTX 3060", "GeForce RTX 3060 Lite Hash Rate"),
    "2489": ("NVIDIA GeForce RTX 3060 Ti", "GeForce RTX 3060 Ti Lite Hash Rate"),
    "2203": ("NVIDIA GeForce RTX 3090 Ti",),
    "2684": ("NVIDIA GeForce RTX 4090",),
    "2685": ("NVIDIA GeForce RTX 4090 D",),
    "2702": ("NVIDIA GeForce RTX 4080 SUPER",),
    "2704": ("NVIDIA GeForce RTX 4080",),
    "2705": ("NVIDIA GeForce RTX 4070 Ti SUPER",),
    "2782": ("NVIDIA GeForce RTX 4070 Ti",),
    "2783": ("NVIDIA GeForce RTX 4070 SUPER",),
    "2B85": ("NVIDIA GeForce RTX 5090",),
    "2B87": ("NVIDIA GeForce RTX 5090 D",),
    "2B8C": ("NVIDIA GeForce RTX 5090 D v2",),
    "2C05": ("NVIDIA GeForce RTX 5070 Ti",),
    "2F04": ("NVIDIA GeForce RTX 5070",),
    "2BB9": ("NVIDIA RTX 6000D",),
    "1B00": ("NVIDIA TITAN X (Pascal)",),
    "1B02": ("NVIDIA TITAN Xp",),
    "102D": ("Tesla K80",),
    "1FB0": ("NVIDIA T1000",),
    "1FF0": ("NVIDIA T1000 8GB",),
}
# of modules, which have no PCI id: the smallest capability that fits, as the name does not tell the module
MODULES = {
    "Orin (nvgpu)": "8.7",
    "Orin": "8.7",
    "Xavier (nvgpu)": "7.2",
    "NVIDIA Thor": "11.0",
    "Thor": "11.0",
}
UNKNOWN = (
    "NVIDIA Graphics Device",
    "NVIDIA GeForce GPU",
    "NVIDIA DRIVE P2021",
    "NVIDIA Foo-24C",
    "GRID Z9-8",
    "NVIDIA X100 MIG 1g.5gb",
    "H200 480GB",
    "NVIDIA GH200",
    "NVIDIA B2000",
    "NVIDIA A1000-SXM4-40GB",
    "RTX 3060 Ti Super D",
    "-16Q",
    " MIG 1g.5gb",
    "",
)
# Names and ids of a second collection, made without a look at our table, with the compute capability of their chips.
AGAIN: dict[str, tuple[str, ...]] = {
    "3.0": (
        "11C6: GeForce GTX 650 Ti",
        "11C8: GeForce GTX 650",
        "11C5: GeForce GT 740",
    ),
    "3.5": ("1286: GeForce GT 720",),
    "5.0": (
        "1392: GeForce GTX 750 Ti",
        "1393: GeForce 840M",
        "1398: GeForce 845M",
        "1399: GeForce 945M",
        "139A: GeForce GTX 950A",
        "139A: GeForce GTX 950M",
        "139B: GeForce GTX 750Ti",
        "139B: GeForce GTX 960A",
        "139B: GeForce GTX 960M",
        "139C: GeForce 940M",
        "134F: GeForce 920MX",
        "Quadro K2200",
    ),
    "5.2": (
        "13C0: GeForce GTX 980",
        "13C2: GeForce GTX 970",
        "13D7: GeForce GTX 980M",
        "13D8: GeForce GTX 970M",
        "13D9: GeForce GTX 965M",
        "1401: GeForce GTX 960",
        "1402: GeForce GTX 950",
        "1427: GeForce GTX 965M",
        "1617: GeForce GTX 980M",
        "1618: GeForce GTX 970M",
        "161A: GeForce GTX 980",
        "GeForce GTX TITAN X",
    ),
    "6.1": (
        "1BE0: GeForce GTX 1080",
        "1BE0: GeForce GTX 1080 with Max-Q Design",
        "1BE1: GeForce GTX 1070",
        "1BE1: GeForce GTX 1070 with Max-Q Design",
        "1C06: GeForce GTX 1060 6GB",
        "1C07: P106-100",
        "1C09: P106-090",
        "1C20: GeForce GTX 1060",
        "1C21: GeForce GTX 1050 Ti",
        "1C22: GeForce GTX 1050",
        "1C60: GeForce GTX 1060 with Max-Q Design",
        "1C61: GeForce GTX 1050 Ti",
        "1C83: GeForce GTX 1050",
        "1C8C: GeForce GTX 1050 Ti with Max-Q Design",
        "1C8D: GeForce GTX 1050 with Max-Q Design",
        "1C8F: GeForce GTX 1050 Ti",
        "1B38: GRID P40-2B",
        "1BB3: GRID P4-2B4",
        "GeForce MX250",
        "Quadro P400",
        "P104-100",
    ),
    "7.0": ("Tesla V100-FHHL-16GB",),
    "7.5": ("CMP 40HX",),
    "8.6": (
        "2236: NVIDIA A10-6Q",
        "2520: NVIDIA GeForce RTX 3060 Laptop GPU",
        "NVIDIA RTX A4500",
        "NVIDIA RTX A2000",
        "CMP 90HX",
    ),
    "8.9": (
        "26B9: NVIDIA L40S-2Q",
        "NVIDIA GeForce RTX 4090D",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce RTX 4080 Laptop GPU",
        "NVIDIA GeForce RTX 4070 Laptop GPU",
        "NVIDIA GeForce RTX 4060 Laptop GPU",
        "NVIDIA RTX 4000 SFF Ada Generation",
    ),
    "9.0": ("2348: NVIDIA GH200 144G HBM3e MIG 1g.36gb",),
    "10.0": (
        "2901: NVIDIA B200 MIG 4g.90gb",
        "2901: NVIDIA B200 MIG 1g.23gb+me",
        "2941: NVIDIA GB200 MIG 1g.47gb",
    ),
    "12.0": (
        "2BB5: NVIDIA RTX Pro 6000 Blackwell DC-1-2Q",
        "2BB5: NVIDIA RTX Pro 6000 Blackwell DC-4-96Q",
        "2BB5: NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb+gfx",
        "2BB5: NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb+me.all",
        "NVIDIA GeForce RTX 5070 Ti Laptop GPU",
    ),
}
WITHOUT_A_ROW = (  # their names belong to chips of several generations, or to chips older than any CUDA in the data
    "GeForce GTX 770M",
    "GeForce GTX 765M",
    "GeForce GTX 760M",
    "GeForce GT 635",
    "GeForce GT 545",
)
# their names belong to chips of several compute capabilities: device id of each, and what the chip is
OF_SEVERAL: dict[str, dict[str, str]] = {
    "GeForce 710M": {"1140": "2.1", "1295": "3.5"},
    "GeForce 810M": {"1140": "2.1", "0FEE": "3.0"},
    "GeForce 820M": {"1140": "2.1", "0FED": "3.0"},
    "GeForce GT 630": {"0F00": "2.1", "0FC2": "3.0", "1284": "3.5"},
    "GeForce GT 640": {"124B": "2.1", "0FC1": "3.0", "1282": "3.5"},
    "GeForce GT 710": {"104D": "2.1", "1281": "3.5", "128B": "3.5"},
    "GeForce GT 720M": {"1140": "2.1", "1298": "3.5"},
    "GeForce GT 730": {"0F02": "2.1", "0F06": "2.1", "0FC9": "3.0", "1287": "3.5", "1299": "3.5"},
    "GeForce GT 730M": {"0FE1": "3.0", "1290": "3.5"},
    "GeForce GT 740M": {"0FDF": "3.0", "1292": "3.5"},
    "GeForce GTX 560": {"1084": "2.0", "1201": "2.1"},
    "GeForce GTX 560 Ti": {"1082": "2.0", "1200": "2.1"},
    "GeForce GTX 860M": {"119A": "3.0", "1392": "5.0"},
}
SPELLINGS = [(name, device) for device, names in PRINTED.items() for name in names]


@pytest.mark.parametrize(("name", "device"), SPELLINGS, ids=[name for name, _ in SPELLINGS])
def test_a_printed_name_finds_a_row_of_its_device(name: str, device: str, matrix: Matrix) -> None:
    model = matrix.gpu_by_name(name)
    assert model is not None
    assert device in model.device_ids


@pytest.mark.parametrize(("capability", "spelling"), [(key, one) for key, held in AGAIN.items() for one in held])
def test_a_name_of_another_collection_finds_its_generation(capability: str, spelling: str, matrix: Matrix) -> None:
    device, _, name = spelling.rpartition(": ")
    model = matrix.gpu_by_name(name)
    assert model is not None and str(model.compute_capability) == capability
    of_device = matrix.gpus_by_device_id(device) if device else ()
    assert {str(one.compute_capability) for one in of_device} <= {capability}


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_a_name_of_several_chips_finds_all_and_the_id_decides(name: str, matrix: Matrix) -> None:
    assert matrix.gpu_by_name(name) is None and matrix.gpu_by_name(f"NVIDIA {name}") is None
    assert {str(model.compute_capability) for model in matrix.gpus_by_name(name)} == {*OF_SEVERAL[name].values()}
    for device, capability in OF_SEVERAL[name].items():
        assert {str(model.compute_capability) for model in matrix.gpus_by_device_id(device)} == {capability}


def test_every_name_of_several_chips_is_listed_here(matrix: Matrix) -> None:
    plain = {name.removeprefix("NVIDIA ") for model in matrix.gpus for name in (model.name, *model.aliases)}
    several = {name for name in plain if len({model.compute_capability for model in matrix.gpus_by_name(name)}) > 1}
    assert several == {*OF_SEVERAL}


@pytest.mark.parametrize("name", [*UNKNOWN, *WITHOUT_A_ROW])
def test_another_name_finds_none(name: str, matrix: Matrix) -> None:
    assert matrix.gpu_by_name(name) is None


@pytest.mark.parametrize(("name", "capability"), MODULES.items())
def test_a_module_is_known_by_what_its_driver_calls_it(name: str, capability: str, matrix: Matrix) -> None:
    model = matrix.gpu_by_name(name)
    assert model is not None and model.variant == "jetson"
    assert str(model.compute_capability) == capability


def test_every_device_id_of_a_server_board_says_so(matrix: Matrix) -> None:
    """Forward compatibility of CUDA is for server boards alone: a share of one is one."""
    for name in ("GRID T4-16Q", "NVIDIA L40S-48C", "GRID A100D-3-40C", "NVIDIA H200 MIG 1g.18gb", "NVIDIA A100X"):
        model = matrix.gpu_by_name(name)
        assert model is not None and model.data_center, name
    for name in ("NVIDIA RTXA6000-48Q", "NVIDIA RTX PRO 5000 Blackwell Generation Laptop GPU", "NVIDIA T500"):
        model = matrix.gpu_by_name(name)
        assert model is not None and not model.data_center, name
