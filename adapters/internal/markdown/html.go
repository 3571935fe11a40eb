package markdown

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	goldhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// HTML renders text as a fragment of HTML that is safe to put into a page of
// ours. It has no script, no handler, no style and no image; links go to http,
// https, mailto and tel only and open apart. HTML in the text shows as it was
// written. A line end is a line break, as people expect in a chat. A block that
// is still open (a fence in the middle of a stream) is closed. Text too large or
// too deeply nested to be parsed in good time shows unformatted, all of it.
func HTML(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if !tame(text) {
		return plain(text)
	}
	e := engine()
	var out bytes.Buffer
	if err := e.markdown.Convert([]byte(text), &out); err != nil {
		return plain(text)
	}
	return e.policy.SanitizeReader(&out).String()
}

// plain shows text as it is.
func plain(text string) string {
	if text == "" {
		return ""
	}
	return "<p>" + strings.ReplaceAll(html.EscapeString(text), "\n", "<br>\n") + "</p>"
}

type machine struct {
	markdown goldmark.Markdown
	policy   *bluemonday.Policy
}

var engine = sync.OnceValue(func() machine {
	return machine{markdown: newMarkdown(), policy: newPolicy()}
})

// newMarkdown leaves out the parsers of HTML, so that HTML is text like any other.
func newMarkdown() goldmark.Markdown {
	p := parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(formulas{}, 750),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(boxes{extension.NewTaskCheckBoxParser()}, 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(formula{}, 150),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
		),
		parser.WithParagraphTransformers(util.Prioritized(references{parser.LinkReferenceParagraphTransformer}, 100)),
	)
	return goldmark.New(
		goldmark.WithParser(p),
		goldmark.WithExtensions(
			extension.Strikethrough,
			extension.Linkify,
			// The page's policy allows no style attributes.
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
		),
		goldmark.WithRendererOptions(
			goldhtml.WithHardWraps(),
			renderer.WithNodeRenderers(util.Prioritized(imageAsLink{}, 100), util.Prioritized(extension.NewTaskCheckBoxHTMLRenderer(), 500)),
		),
	)
}

func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li",
		"pre", "code", "em", "strong", "del", "table", "thead", "tbody", "tr", "th", "td", "input")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|center|right)$`)).OnElements("th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[a-zA-Z0-9+#._-]{1,40}$`)).OnElements("code")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input")
	p.AllowAttrs("checked", "disabled").Matching(regexp.MustCompile(`^$`)).OnElements("input")
	p.AllowAttrs("href").OnElements("a")
	p.RequireParseableURLs(true)
	p.AllowURLSchemes("http", "https", "mailto", "tel")
	p.RequireNoFollowOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
}

// boxes reads the boxes of tasks as GFM has them, with a blank behind: [X](address) is
// a link (https://github.github.com/gfm/#task-list-items-extension-).
type boxes struct{ parser.InlineParser }

func (b boxes) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if line, _ := block.PeekLine(); len(line) > 3 && !util.IsSpace(line[3]) {
		return nil
	}
	return b.InlineParser.Parse(parent, block, pc)
}

// imageAsLink shows an image as a link to it: a picture that loads by itself
// tells its host who reads the chat, and lets a prompt injection carry data out.
type imageAsLink struct{}

func (imageAsLink) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, renderImage)
}

func renderImage(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	image := node.(*ast.Image)
	linked := inLink(node)
	if !entering {
		if !linked {
			_, _ = w.WriteString("</a>")
		}
		return ast.WalkContinue, nil
	}
	if !linked {
		_, _ = w.WriteString(`<a href="`)
		_, _ = w.Write(util.EscapeHTML(util.URLEscape(image.Destination, true)))
		_, _ = w.WriteString(`">`)
	}
	if !image.HasChildren() {
		_, _ = w.Write(util.EscapeHTML([]byte(unescape(string(image.Destination)))))
	}
	return ast.WalkContinue, nil
}

// inLink reports whether a link is open around the node; links do not nest.
func inLink(node ast.Node) bool {
	for n := node.Parent(); n != nil && n.Type() == ast.TypeInline; n = n.Parent() {
		if k := n.Kind(); k == ast.KindLink || k == ast.KindImage {
			return true
		}
	}
	return false
}
