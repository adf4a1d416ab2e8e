# SPDX-License-Identifier: MIT
"""Recipe of Conan 2 for the sources in the folder two levels above. SLEEF comes from the system: there is no recipe of it on
ConanCenter that has the file of pkg-config by which Meson finds it.

    conan create packaging/conan
"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import PkgConfig
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain

required_conan_version = ">=2.0"


class InlayConan(ConanFile):
    name = "inlay"
    description = "The input layer of Transformers on CPUs: embeddings, exact sinusoids and norms in one pass"
    license = "MIT"
    topics = ("transformers", "embedding", "simd")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]

    @property
    def upstream(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self.upstream, "meson.build"))
        self.version = re.search(r"^  version: '(.*)',$", text, re.MULTILINE)[1]

    def export_sources(self):
        for pattern in ("meson.build", "meson_options.txt", "LICENSE", "packaging/cmake/*", "file/*", "include/*", "src/*"):
            copy(self, pattern, self.upstream, self.export_sources_folder)

    def configure(self):
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8", "armv7hf", "riscv64"):
            raise ConanInvalidConfiguration("inlay runs on Linux, on x86-64, 64-bit ARM, armhf and riscv64")

    def layout(self):
        basic_layout(self)

    def system_requirements(self):
        from conan.tools.system.package_manager import Apt

        Apt(self).check(["libsleef-dev"])

    def generate(self):
        toolchain = MesonToolchain(self)
        toolchain.project_options["auto_features"] = "disabled"
        toolchain.project_options["file"] = "enabled"
        toolchain.generate()

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self):
        Meson(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        # Meson makes both kinds of both libraries.
        unwanted = ".a" if self.options.shared else ".so"
        libraries = os.path.join(self.package_folder, "lib")
        for name in os.listdir(libraries):
            if unwanted in name:
                os.remove(os.path.join(libraries, name))
        # Conan writes the files of CMake and pkg-config itself.
        rmdir(self, os.path.join(libraries, "cmake"))
        rmdir(self, os.path.join(libraries, "pkgconfig"))

    def package_info(self):
        self.cpp_info.components["core"].libs = ["inlay"]
        self.cpp_info.components["core"].set_property("pkg_config_name", "inlay")
        self.cpp_info.components["core"].set_property("cmake_target_name", "inlay::inlay")
        self.cpp_info.components["file"].libs = ["inlay-file"]
        self.cpp_info.components["file"].requires = ["core"]
        self.cpp_info.components["file"].set_property("pkg_config_name", "inlay-file")
        self.cpp_info.components["file"].set_property("cmake_target_name", "inlay::file")
        if not self.options.shared and self.settings.arch != "armv7hf":
            self.cpp_info.components["core"].system_libs = PkgConfig(self, "sleef").libs
