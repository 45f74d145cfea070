# The formula of @program@, which dist/build makes for the archives of one release.
class @class@ < Formula
  desc @desc@
  homepage "@home@"
  version "@version@"
  license any_of: ["Apache-2.0", "MIT"]
@downloads@
  def install
    bin.install "bin/@program@"
    man@section@.install Dir["man/man@section@/@program@*.@section@"]
    bash_completion.install "completions/bash/@program@"
    zsh_completion.install "completions/zsh/_@program@"
    fish_completion.install "completions/fish/@program@.fish"
@examples@    doc.install "THIRD-PARTY"
  end
@service@
  test do
    assert_match version.to_s, shell_output("#{bin}/@program@ @word@")
  end
end
