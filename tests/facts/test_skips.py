"""Skips of the common test frameworks: each fires as one, and taken away again it is quiet.

`SKIPS`: the file, a test in it, and what of its text is replaced by what.
"""

import pytest

from unspin.facts.test_changes import compare, still_lost

SKIPS = [
    (
        "ATests.cs",
        "public class T\n{\n    [Fact]\n    public void Adds()\n    {\n        Assert.Equal(3, Add(1, 2));\n    }\n}\n",
        [
            ("[Fact]", '[Fact(Skip = "x")]'),
            ("[Fact]", '[Fact(Skip="x")]'),
            ("[Fact]", "[Fact, Ignore]"),
            ("[Fact]", '[Fact(DisplayName = "d", Skip = "x")]'),
            ("[Fact]", "[Fact]\n    [Ignore]"),
            ("[Fact]", '[Ignore("x")]\n    [Fact]'),
            ("        Assert.E", "        Assert.Ignore();\n        Assert.E"),
            ("        Assert.E", "        Assert.Inconclusive();\n        Assert.E"),
            ("        Assert.E", '        Assert.Skip("x");\n        Assert.E'),
            ("        Assert.Equal(3, Add(1, 2));", "        Assert.Inconclusive();"),
            ("[Fact]", "[Fact]\n    [Explicit]"),
        ],
    ),
    (
        "ATests.cs",
        "public class T\n{\n    [Theory]\n    [InlineData(1, 2)]\n    public async Task Adds(int a, int b)\n    {\n        Assert.Equal(b, Add(1, a));\n    }\n}\n",
        [
            ("[Theory]", '[Theory(Skip = "x")]'),
            ("[InlineData(1, 2)]", '[InlineData(1, 2, Skip = "x")]'),
            ("[Theory]", "[Theory(Skip = Reason)]"),
        ],
    ),
    (
        "ATests.cs",
        "[TestClass]\npublic class T\n{\n    [TestMethod]\n    public void Adds()\n    {\n        Assert.AreEqual(3, Add(1, 2));\n    }\n}\n",
        [
            ("[TestMethod]", "[TestMethod]\n    [Ignore]"),
            ("[TestMethod]", "[TestMethod, Ignore]"),
            ("[TestMethod]", "[Ignore, TestMethod]"),
            ("[TestClass]", "[TestClass]\n[Ignore]"),
            ("[TestMethod]", '[TestMethod, Ignore("x")]'),
        ],
    ),
    (
        "ATest.java",
        "class ATest {\n    @Test\n    void adds() {\n        assertEquals(3, add(1, 2));\n    }\n}\n",
        [
            ("@Test", '@Test\n    @Disabled("x")'),
            ("@Test", "@Disabled\n    @Test"),
            ("@Test", '@Test @Disabled("x")'),
            ("@Test", "@Ignore @Test"),
            ("@Test", "@Test\n    @Ignore"),
            ("@Test", "@Test(enabled = false)"),
            ("        assertE", "        assumeTrue(false);\n        assertE"),
            ("        assertE", "        Assumptions.assumeTrue(false);\n        assertE"),
            ("        assertE", "        Assumptions.abort();\n        assertE"),
            ("        assertE", '        throw new SkipException("x");\n        assertE'),
            ("        assertE", "        if (true) return;\n        assertE"),
            ("        assertE", "        if (true) { return; }\n        assertE"),
            ("class ATest", "@Disabled\nclass ATest"),
            ("        assertEquals(3, add(1, 2));", "        assumeTrue(false);"),
        ],
    ),
    (
        "ATest.kt",
        "class ATest {\n    @Test\n    fun adds() {\n        assertEquals(3, add(1, 2))\n    }\n}\n",
        [
            ("@Test", "@Ignore\n    @Test"),
            ("@Test", "@Test\n    @Ignore"),
            ("@Test", "@Ignore @Test"),
            ("@Test", '@Disabled("x")\n    @Test'),
            ("        assertE", "        Assume.assumeTrue(false)\n        assertE"),
            ("        assertE", "        return\n        assertE"),
        ],
    ),
    (
        "ATest.kt",
        'class ATest : StringSpec({\n    "adds" {\n        add(1, 2) shouldBe 3\n    }\n})\n',
        [('"adds"', '"!adds"'), ('"adds" {', '"adds".config(enabled = false) {')],
    ),
    (
        "ATest.kt",
        'class ATest : FunSpec({\n    test("adds") {\n        add(1, 2) shouldBe 3\n    }\n})\n',
        [("test(", "xtest(")],
    ),
    (
        "a_test.go",
        'func TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != 3 {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n',
        [
            ("\tif got", '\tt.Skip("x")\n\tif got'),
            ("\tif got", "\tt.SkipNow()\n\tif got"),
            ("\tif got", '\tt.Skipf("x %d", 1)\n\tif got'),
            ("\tif got", "\tif true {\n\t\tt.Skip()\n\t}\n\tif got"),
            ("\tif got", "\treturn\n\tif got"),
            ("func Test", "//go:build ignore\n\nfunc Test"),
            ('\tif got := Add(1, 2); got != 3 {\n\t\tt.Errorf("got %d", got)\n\t}\n', '\tt.Skip("flaky")\n'),
            ("func Test", "func _Test"),
        ],
    ),
    (
        "tests/a.rs",
        "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n",
        [
            ("#[test]", "#[test]\n#[ignore]"),
            ("#[test]", '#[ignore = "x"]\n#[test]'),
            ("#[test]", '#[test]\n#[ignore = "x"]'),
            ("#[test]", '#[test]\n#[ignore("x")]'),
            ("#[test]", "#[test] #[ignore]"),
            ("#[test]", "#[cfg(any())]\n#[test]"),
            ("#[test]\n", ""),
            ("#[test]", "#[cfg(FALSE)]\n#[test]"),
            ("#[test]", "#[test]\n#[cfg_attr(all(), ignore)]"),
            ("    assert_eq", "    return;\n    assert_eq"),
        ],
    ),
    (
        "a_spec.rb",
        'describe Cart do\n  it "adds" do\n    expect(add(1, 2)).to eq(3)\n  end\nend\n',
        [
            ("  it ", "  xit "),
            ("  it ", "  pending "),
            ("  it ", "  skip "),
            ("    expect", '    skip "x"\n    expect'),
            ("    expect", "    skip\n    expect"),
            ("    expect", '    skip("x")\n    expect'),
            ("    expect", "    pending\n    expect"),
            ("    expect", '    pending "x"\n    expect'),
            ("    expect", '    pending("x")\n    expect'),
            ("describe", "xdescribe"),
            ('"adds" do', '"adds", skip: true do'),
            ('"adds" do', '"adds", :skip do'),
            ('"adds" do', '"adds", skip: "x" do'),
            ('"adds" do', '"adds", pending: true do'),
            ("  it ", "  xspecify "),
            ("  it ", "  xexample "),
            ("  it ", "  fit "),
            ('"adds" do', '"adds", :focus do'),
        ],
    ),
    (
        "a_test.rb",
        "class ATest < Minitest::Test\n  def test_adds\n    assert_equal 3, add(1, 2)\n  end\nend\n",
        [
            ("    assert", "    skip\n    assert"),
            ("    assert", '    skip "x"\n    assert'),
            ("    assert", '    omit("x")\n    assert'),
            ("    assert", "    return\n    assert"),
            ("    assert", "    skip if true\n    assert"),
        ],
    ),
    (
        "a_test.exs",
        'defmodule ATest do\n  test "adds" do\n    assert add(1, 2) == 3\n  end\nend\n',
        [
            ("  test", "  @tag :skip\n  test"),
            ("  test", "  @tag skip: true\n  test"),
            ("  test", '  @tag skip: "x"\n  test'),
            ("  test", "  @moduletag :skip\n\n  test"),
            ("  test", "  @describetag :skip\n  test"),
        ],
    ),
    (
        "ATests.swift",
        "class ATests: XCTestCase {\n    func testAdds() throws {\n        XCTAssertEqual(add(1, 2), 3)\n    }\n}\n",
        [
            ("        XCTA", "        throw XCTSkip()\n        XCTA"),
            ("        XCTA", '        throw XCTSkip("x")\n        XCTA'),
            ("        XCTA", "        try XCTSkipIf(true)\n        XCTA"),
            ("        XCTA", '        try XCTSkipUnless(false, "x")\n        XCTA'),
            ("        XCTA", "        XCTExpectFailure()\n        XCTA"),
            ("        XCTAssertEqual(add(1, 2), 3)", "        throw XCTSkip()"),
            ("func testAdds", "func xtestAdds"),
            ("func testAdds", "func disabled_testAdds"),
        ],
    ),
    (
        "ATests.swift",
        "@Test func adds() {\n    #expect(add(1, 2) == 3)\n}\n",
        [
            ("@Test", "@Test(.disabled())"),
            ("@Test", '@Test(.disabled("x"))'),
            ("@Test", "@Test(.enabled(if: false))"),
            ("    #expect(add(1, 2) == 3)", "    withKnownIssue {\n        #expect(add(1, 2) == 3)\n    }"),
        ],
    ),
    (
        "ATest.php",
        "<?php\nclass ATest extends TestCase {\n    public function testAdds(): void {\n        $this->assertSame(3, add(1, 2));\n    }\n}\n",
        [
            ("        $this->", "        $this->markTestSkipped();\n        $this->"),
            ("        $this->", "        $this->markTestSkipped('x');\n        $this->"),
            ("        $this->", "        $this->markTestIncomplete();\n        $this->"),
            ("        $this->", "        self::markTestSkipped();\n        $this->"),
            ("        $this->", "        return;\n        $this->"),
            ("        $this->assertSame(3, add(1, 2));", "        $this->markTestSkipped();"),
            ("function testAdds", "function skipTestAdds"),
        ],
    ),
    (
        "ATest.php",
        "<?php\nit('adds', function () {\n    expect(add(1, 2))->toBe(3);\n});\n",
        [("});\n", "})->skip();\n"), ("});\n", "})->skip('x');\n"), ("});\n", "})->todo();\n")],
    ),
    (
        "test_a.py",
        "import pytest\n\n\ndef test_a():\n    assert f() == 3\n",
        [
            ("    assert", '    pytest.skip("x")\n    assert'),
            ("    assert", '    pytest.skip(reason="x")\n    assert'),
            ("def test", '@pytest.mark.skip(reason="x")\ndef test'),
            ("def test", "@pytest.mark.skip\ndef test"),
            ("def test", "@unittest.skip\ndef test"),
            ("def test", '@unittest.skip("x")\ndef test'),
            ("def test", '@skip("x")\ndef test'),
            ("def test", "pytestmark = pytest.mark.skip\n\n\ndef test"),
            ("def test", 'pytest.skip("x", allow_module_level=True)\n\n\ndef test'),
            ("def test", "@pytest.mark.xfail(strict=False)\ndef test"),
            ("def test", '@pytest.mark.skipif(True, reason="x")\ndef test'),
            ("    assert", '    raise unittest.SkipTest("x")\n    assert'),
            ("    assert", "    raise SkipTest\n    assert"),
            ("    assert", '    pytest.xfail("x")\n    assert'),
            ("    assert f() == 3", "    pytest.skip()"),
            ("    assert f() == 3", '    pytest.skip("x")'),
            ("    assert f() == 3", '    if True:\n        pytest.skip("x")\n    assert f() == 3'),
            ("def test", "collect_ignore = ['test_a.py']\n\n\ndef test"),
        ],
    ),
    (
        "test_a.py",
        "class T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 3)\n",
        [
            ("        self.assert", '        self.skipTest("x")\n        self.assert'),
            ("    def", '    @unittest.skip("x")\n    def'),
            ("    def", "    @unittest.expectedFailure\n    def"),
            ("class", '@unittest.skip("x")\nclass'),
            ("    def", "    __test__ = False\n\n    def"),
            ("        self.assertEqual(f(), 3)", '        self.skipTest("x")'),
        ],
    ),
    (
        "a.test.mjs",
        "import test from 'node:test';\ntest('adds', () => {\n  assert.equal(add(1, 2), 3);\n});\n",
        [
            ("test('", "test.skip('"),
            ("test('", "test.todo('"),
            ("'adds', ", "'adds', { skip: true }, "),
            ("'adds', ", "'adds', { skip: 'x' }, "),
            ("'adds', ", "'adds', { todo: true }, "),
            ("'adds', ", "'adds', { timeout: 5, skip: true }, "),
            ("'adds', ", "{ skip: true }, "),
            ("'adds', () => {\n", "'adds', (t) => {\n  t.skip('x');\n"),
            ("'adds', () => {\n", "'adds', (t) => {\n  t.skip();\n  return;\n"),
            ("'adds', () => {\n", "'adds', (t) => {\n  t.todo();\n"),
            ("test('", "test.only('"),
        ],
    ),
    (
        "a.test.mjs",
        "test('adds', { timeout: 500 }, () => {\n  assert.equal(add(1, 2), 3);\n});\n",
        [
            ("{ timeout: 500 }", "{ timeout: 500, skip: true }"),
            ("{ timeout: 500 }", "{\n  skip: true,\n}"),
            ("{ timeout: 500 }", "{ skip: !process.env.CI }"),
        ],
    ),
    (
        "a.test.mjs",
        "describe('a', () => {\n  it('adds', () => {\n    assert.equal(add(1, 2), 3);\n  });\n});\n",
        [
            ("describe('a', ", "describe('a', { skip: true }, "),
            ("it('", "it.skip('"),
            ("'adds', ", "'adds', { skip: true }, "),
        ],
    ),
    (
        "a.test.js",
        "describe('cart', function () {\n  it('adds', function () {\n    expect(add(1, 2)).to.equal(3);\n  });\n});\n",
        [
            ("    expect", "    this.skip();\n    expect"),
            ("    expect(add(1, 2)).to.equal(3);", "    this.skip();"),
            ("  it(", "  it.skip("),
            ("  it(", "  xit("),
            ("describe(", "describe.skip("),
            ("describe(", "xdescribe("),
            ("  it(", "  before(function () { this.skip(); });\n  it("),
            ("  it(", "  it.only("),
            ("    expect", "    return;\n    expect"),
            ("    expect", "    pending();\n    expect"),
            ("    expect", "    pending('x');\n    expect"),
            ("    expect", "    if (true) return;\n    expect"),
        ],
    ),
    (
        "a.test.ts",
        "it('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\n",
        [
            ("it(", "it.skipIf(true)("),
            ("it(", "it.runIf(false)("),
            ("it(", "it.fails("),
            ("it(", "it.skip("),
            ("it(", "test.skip("),
            ("it(", "test.fails("),
            ("it(", "it.failing("),
            ("it(", "it.fixme("),
            ("it('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});", "it.todo('adds');"),
            ("it(", "it.concurrent.skip("),
            ("'adds', ", "'adds', { skip: true }, "),
            ("'adds', ", "'adds', { fails: true }, "),
            ("'adds', ", "'adds', { todo: true }, "),
            ("it(", "it.skip.each([1])("),
            ("'adds', () => {\n", "'adds', ({ skip }) => {\n  skip();\n"),
            ("'adds', () => {\n", "'adds', (ctx) => {\n  ctx.skip();\n"),
            ("'adds', () => {\n", "'adds', ({ task, skip }) => {\n  skip('x');\n"),
            ("'adds', () => {\n", "'adds', (context) => {\n  context.skip();\n"),
            ("'adds', () => {\n", "'adds', () => {\n  test.skip();\n"),
            ("'adds', () => {\n", "'adds', () => {\n  test.skip(true, 'x');\n"),
            ("'adds', () => {\n", "'adds', () => {\n  test.fixme();\n"),
            ("'adds', () => {\n", "'adds', () => {\n  test.fail();\n"),
            ("it(", "it.ignore("),
            ("it(", "Deno.test.ignore("),
        ],
    ),
    (
        "a.test.ts",
        "Deno.test('adds', () => {\n  assertEquals(add(1, 2), 3);\n});\n",
        [
            ("Deno.test(", "Deno.test.ignore("),
            ("Deno.test('adds', () =>", "Deno.test({ name: 'adds', ignore: true, fn: () =>"),
        ],
    ),
    (
        "a.bats",
        '@test "adds" {\n  run add 1 2\n  [ "$status" -eq 0 ]\n}\n',
        [
            ("  run", "  skip\n  run"),
            ("  run", '  skip "x"\n  run'),
            ("  run", "  skip 'x'\n  run"),
            ("  run", "  if true; then\n    skip\n  fi\n  run"),
            ("  run", "  if true; then skip; fi\n  run"),
            ("  run", "  true && skip\n  run"),
            ("  run", "  return 0\n  run"),
        ],
    ),
    (
        "a_test.dart",
        "void main() {\n  test('adds', () {\n    expect(add(1, 2), 3);\n  });\n}\n",
        [
            ("  });\n}", "  }, skip: true);\n}"),
            ("  });\n}", "  }, skip: 'x');\n}"),
            ("test('adds', ", "test('adds', skip: true, "),
            ("    expect", "    markTestSkipped('x');\n    expect"),
            ("void main", "@Skip('x')\nlibrary a;\nvoid main"),
        ],
    ),
    (
        "a_test.cc",
        "TEST(A, Adds) {\n  EXPECT_EQ(add(1, 2), 3);\n}\n",
        [
            ("  EXPECT", "  GTEST_SKIP();\n  EXPECT"),
            ("  EXPECT", '  GTEST_SKIP() << "x";\n  EXPECT'),
            ("Adds", "DISABLED_Adds"),
            ("TEST(A", "TEST(DISABLED_A"),
            ("  EXPECT", "  return;\n  EXPECT"),
        ],
    ),
    (
        "a_test.cc",
        'TEST_CASE("adds") {\n  REQUIRE(add(1, 2) == 3);\n}\n',
        [
            ("  REQ", '  SKIP("x");\n  REQ'),
            ('"adds"', '"adds", "[.]"'),
            ('"adds"', '"adds", "[!mayfail]"'),
            ('"adds"', '"adds" * doctest::skip()'),
        ],
    ),
    (
        "ATest.scala",
        'class ATest extends AnyFunSuite {\n  test("adds") {\n    assert(add(1, 2) == 3)\n  }\n}\n',
        [
            ("test(", "ignore("),
            ("    assert", "    cancel()\n    assert"),
            ("    assert", "    pending\n    assert"),
            ("    assert", "    assume(false)\n    assert"),
        ],
    ),
    (
        "ASpec.groovy",
        "class ASpec extends Specification {\n  def 'adds'() {\n    expect:\n    add(1, 2) == 3\n  }\n}\n",
        [
            ("  def", "  @Ignore\n  def"),
            ("  def", "  @PendingFeature\n  def"),
            ("  def", "  @IgnoreIf({ true })\n  def"),
        ],
    ),
    (
        "t/a.t",
        "use Test::More;\nis(add(1, 2), 3, 'adds');\ndone_testing;\n",
        [("use Test::More;", "use Test::More skip_all => 'x';")],
    ),
]

EACH = [
    pytest.param(path, base, base.replace(old, new, 1), id=f"{path}: {new.strip()}")
    for path, base, edits in SKIPS
    for old, new in edits
]


@pytest.mark.parametrize(("path", "runs", "skipped"), EACH)
def test_a_test_that_no_longer_runs_is_skipped_and_not_deleted(path: str, runs: str, skipped: str) -> None:
    change = compare(runs, skipped, path)
    assert change.added_skips in (1, 2)
    assert change.deleted_tests == 0


@pytest.mark.parametrize(("path", "runs", "skipped"), EACH)
def test_a_test_that_runs_again_is_no_loss(path: str, runs: str, skipped: str) -> None:
    back = compare(skipped, runs, path)
    assert not back.weakens()
    change = compare(runs, skipped, path)
    assert still_lost([(change.lost, change.came), (back.lost, back.came)]) == [0, 0, 0, 0]
