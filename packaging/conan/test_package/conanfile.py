# SPDX-License-Identifier: MIT
"""Builds examples/minimal.c against the package by pkg-config, and demands the lines that it prints."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.files import load
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson


class InlayTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "MesonToolchain", "PkgConfigDeps", "VirtualRunEnv"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        basic_layout(self)

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def test(self):
        if can_run(self):
            printed = os.path.join(self.build_folder, "printed")
            self.run(f"{os.path.join(self.build_folder, 'minimal')} >{printed}", env="conanrun")
            wanted = os.path.join(self.recipe_folder, "..", "..", "..", "tests", "install", "minimal.expected")
            assert load(self, printed) == load(self, wanted), load(self, printed)
