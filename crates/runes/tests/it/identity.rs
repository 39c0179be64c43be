//! The identity transform on trees made by hand, with configurations that no official rune has.

use std::sync::Arc;

use quad_runes::catalogue::{Catalogue, Package, RuneRules};
use quad_runes::tree::{Node, Tag};
use quad_runes::{html, identity};

/// A tree after the transform, with types configured as `engine` says.
fn transformed(engine: &str, tree: Tag) -> String {
    let package = Package::parse("f.toml", engine, "local").unwrap();
    let catalogue = Catalogue::merge(&[Arc::new(package)], &RuneRules::default()).0;
    html::print(&identity::transform(&catalogue, tree.into()))
}

fn check(engine: &str, tree: Tag, expect: &[&str]) {
    assert_eq!(transformed(engine, tree), expect.join("\n"));
}

/// The bare root of a rune, as schemas emit it.
fn rune(name: &str) -> Tag {
    Tag::new("div").with("data-rune", name).with("class", serde_json::Value::Null)
}

fn fields(tag: Tag, json: &str) -> Tag {
    tag.with("data-rune-fields", json)
}

fn part(name: &str) -> Tag {
    Tag::new("p").with("data-name", name)
}

fn meta(field: &str, content: &str) -> Node {
    Tag::new("meta").with("data-field", field).with("content", content).into()
}

#[test]
fn an_element_that_is_no_rune_stays() {
    check(
        "",
        Tag::new("p").with("data-rune", "nothing-of-the-kind"),
        &["<p data-rune=\"nothing-of-the-kind\"></p>"],
    );
    check(
        "[engine.Boat]",
        rune("boat"),
        &["<div class=\"rf-boat\" data-rune=\"boat\" data-density=\"full\"></div>"],
    );
}

#[test]
fn types_with_capitals_in_a_row_are_found() {
    let html = transformed("[engine.FAQList]\nblock = 'faq'", rune("faqlist"));
    assert_eq!(html, "<div class=\"rf-faq\" data-rune=\"faqlist\" data-density=\"full\"></div>");
}

#[test]
fn modifiers_come_from_the_bag_then_from_metas_then_from_defaults() {
    let engine = "[engine.Boat.modifiers]\nsailType = {}\nhull = {}\nkeel = { default = 'long' }\nflag = {}\nmast = {}";
    let boat = fields(rune("boat"), r#"{"sailType":"gaff","flag":"","mast":2,"hull":null,"keel":false}"#)
        .holding([meta("hull", "oak"), meta("flag", "red"), meta("rope", "hemp")]);
    check(
        engine,
        boat,
        &[
            "<div class=\"rf-boat rf-boat--gaff rf-boat--oak rf-boat--2\" data-sail-type=\"gaff\" data-hull=\"oak\" \
             data-flag=\"\" data-mast=\"2\" data-rune=\"boat\" data-density=\"full\">",
            "  <meta data-field=\"rope\" content=\"hemp\" />",
            "</div>",
        ],
    );
}

#[test]
fn a_modifier_may_be_an_attribute_and_mean_another_word() {
    let engine = "[engine.Boat.modifiers]\nstate = { source = 'attribute', no-bem-class = true, \
                  value-map = { afloat = 'good' }, map-target = 'mood' }\n\
                  side = { source = 'attribute', value-map = { port = 'left' } }";
    let boat = rune("boat").with("state", "afloat").with("side", "port").with("id", "b1");
    check(
        engine,
        boat,
        &[
            "<div class=\"rf-boat rf-boat--port\" id=\"b1\" data-state=\"afloat\" data-side=\"left\" data-mood=\"good\" \
           data-rune=\"boat\" data-density=\"full\"></div>",
        ],
    );
}

#[test]
fn a_variant_changes_the_configuration() {
    let engine = "[engine.Boat]\nstatic-modifiers = ['plain']\n[engine.Boat.modifiers]\nsize = { default = 'small' }\n\
                  [engine.Boat.variants.size.big]\nstatic-modifiers = ['huge']\nroot-attributes = { role = 'ship' }";
    let small = transformed(engine, rune("boat"));
    assert!(small.contains("rf-boat--small rf-boat--plain") && !small.contains("role="), "{small}");
    let big = transformed(engine, fields(rune("boat"), r#"{"size":"big"}"#));
    assert!(big.contains("rf-boat--big rf-boat--huge\"") && big.contains("role=\"ship\""), "{big}");
}

#[test]
fn what_stands_around_counts_also_through_other_elements() {
    let engine = "[engine.Fleet]\nchild-density = 'minimal'\n\
                  [engine.Boat]\ndefault-density = 'compact'\ncontext-modifiers = { fleet = 'in-fleet' }";
    let boat = || Node::from(rune("boat"));
    let fleet = rune("fleet").holding([Tag::new("ul").holding([boat()]).into()]);
    let html = transformed(engine, Tag::new("article").holding([boat(), fleet.into()]));
    assert!(html.contains("class=\"rf-boat\" data-rune=\"boat\" data-density=\"compact\""), "{html}");
    assert!(
        html.contains("class=\"rf-boat rf-boat--in-fleet\" data-rune=\"boat\" data-density=\"minimal\""),
        "{html}"
    );
}

#[test]
fn parts_are_dressed_only_below_named_ones() {
    let engine = "[engine.Boat]\nsections = { deck = 'body', view = 'media' }\nmedia-slots = { view = 'cover' }\n\
                  default-reading = 'prose'\nauto-label = { h2 = 'title', crew = 'crew' }";
    let deck = part("deck").with("class", "own").holding([part("rope").into()]);
    let hidden = Tag::new("div").holding([part("anchor").into(), Tag::new("h2").into()]);
    let crew = Tag::new("i").with("data-field", "crew");
    let boat = rune("boat").with("dropcap", true).holding([
        deck.into(),
        part("view").into(),
        hidden.into(),
        crew.into(),
    ]);
    check(
        engine,
        boat,
        &[
            "<div class=\"rf-boat\" dropcap data-rune=\"boat\" data-density=\"full\">",
            "  <p data-name=\"deck\" class=\"rf-boat__deck own\" data-section=\"body\" data-reading=\"prose\" data-dropcap=\"true\">",
            "    <p data-name=\"rope\" class=\"rf-boat__rope\"></p>",
            "  </p>",
            "  <p data-name=\"view\" class=\"rf-boat__view\" data-section=\"media\" data-media=\"cover\" data-guest-fit=\"clip\"></p>",
            "  <div>",
            "    <p data-name=\"anchor\"></p>",
            "    <h2 data-name=\"title\"></h2>",
            "  </div>",
            "  <i data-field=\"crew\" data-name=\"crew\" class=\"rf-boat__crew\"></i>",
            "</div>",
        ],
    );
}

#[test]
fn values_are_projected_in_their_shapes() {
    let engine = "[engine.Boat.modifiers]\nstate = {}\nbuilt = {}\nhome = {}\nstars = {}\ntags = {}\ntime = {}\n\
         [engine.Boat.meta-fields]\nstate = { meta-type = 'status', sentiment-map = { afloat = 'positive' } }\n\
         built = { tag = 'time', meta-type = 'temporal' }\nwebsite = { href = 'home', label = 'Home' }\n\
         stars = { rating = { total = 'most' } }\ntags = { meta-type = 'tag', split-on = ',' }\n\
         time = { transform = 'duration', label = 'Sails for', condition = 'time' }\n\
         [engine.Boat.blocks]\nhead = { layout = 'bar', wrap = false, fields = ['state', { field = 'built', align = 'end' }, 'website', 'stars'] }\n\
         facts = { layout = 'definition-list', fields = ['tags', 'time', 'state'] }\nnone = { layout = 'bar', fields = ['time'] }\n\
         [engine.Boat.layout]\nroot = ['head', 'none', 'facts']";
    let bag = r#"{"state":"afloat","built":"1911","home":"/h","stars":"1","tags":"a, b,,"}"#;
    check(
        engine,
        fields(rune("boat"), bag),
        &[
            "<div class=\"rf-boat rf-boat--afloat rf-boat--1911 rf-boat--/h rf-boat--1 rf-boat--a, b,,\" data-state=\"afloat\" \
             data-built=\"1911\" data-home=\"/h\" data-stars=\"1\" data-tags=\"a, b,,\" data-rune=\"boat\" data-density=\"full\">",
            "  <div data-name=\"head\" data-zone=\"head\" data-zone-layout=\"bar\" data-wrap=\"false\" class=\"rf-boat__head\">",
            "    <span class=\"rf-badge\" data-meta-type=\"status\" data-meta-sentiment=\"positive\">afloat</span>",
            "    <time data-meta-type=\"temporal\" datetime=\"1911\" data-align=\"end\">1911</time>",
            "    <a href=\"/h\" data-meta-type=\"link\">Home</a>",
            "    <span data-meta-type=\"rating\">",
            "      <span data-filled=\"true\"></span>",
            "      <span data-filled=\"false\"></span>",
            "      <span data-filled=\"false\"></span>",
            "      <span data-filled=\"false\"></span>",
            "      <span data-filled=\"false\"></span>",
            "    </span>",
            "  </div>",
            "  <dl data-name=\"facts\" data-zone=\"facts\" data-zone-layout=\"definition-list\" class=\"rf-boat__facts\">",
            "    <div data-name=\"row\" data-field=\"tags\" class=\"rf-boat__row\">",
            "      <dt data-meta-label=\"\">tags</dt>",
            "      <dd data-multi-value=\"\">",
            "        <span class=\"rf-badge\" data-meta-type=\"tag\">a</span>",
            "        <span class=\"rf-badge\" data-meta-type=\"tag\">b</span>",
            "      </dd>",
            "    </div>",
            "    <div data-name=\"row\" data-field=\"state\" class=\"rf-boat__row\">",
            "      <dt data-meta-label=\"\">state</dt>",
            "      <dd>",
            "        <span class=\"rf-badge\" data-meta-type=\"status\" data-meta-sentiment=\"positive\">afloat</span>",
            "      </dd>",
            "    </div>",
            "  </dl>",
            "</div>",
        ],
    );
}

#[test]
fn facets_add_up_in_a_fixed_order() {
    let engine = "[engine.Boat]\nframe-target = 'self'\ndefault-elevation = 'lg'\nsections = { title = 'title' }\n\
                  [engine.Boat.modifiers]\ngap = { no-bem-class = true }\n\
                  [engine.Boat.styles]\ngap = { prop = '--gap', transform = 'gap' }";
    let boat = fields(rune("boat"), r#"{"gap":"tight"}"#)
        .with("style", "top: 0")
        .with("stagger", true)
        .with("reveal", "fade")
        .with("prominence", "quiet")
        .with("inset", "tight")
        .with("width", "wide")
        .holding([
            meta("tint-mode", "dark"),
            meta("tint-primary", "navy"),
            meta("frame-shadow", "sm"),
            meta("frame-offset", "2xl"),
            meta("substrate", "dots"),
            meta("substrate-size", "lg"),
            meta("bg-src", "/sea.jpg"),
            meta("scrim", "left"),
            meta("tint-accent", "red"),
        ]);
    check(
        engine,
        boat,
        &[
            "<div class=\"rf-boat rf-boat--tinted rf-boat--wide rf-boat--inset-tight rf-boat--has-bg\" \
             style=\"top: 0; --gap: var(--rf-spacing-sm); --tint-primary: navy; --frame-offset: var(--rf-spacing-section); \
             --substrate-cell: 24px\" data-gap=\"tight\" data-width=\"wide\" data-inset=\"tight\" data-elevation=\"floating\" \
             data-prominence=\"quiet\" data-reveal=\"fade\" data-stagger=\"\" data-tint=\"custom\" data-color-scheme=\"dark\" \
             data-frame-shadow=\"sm\" data-substrate=\"dots\" data-bg=\"\" data-rune=\"boat\" data-density=\"full\">",
            "  <div data-name=\"bg\" style=\"--bg-image: url(/sea.jpg)\" class=\"rf-boat__bg\">",
            "    <div data-name=\"scrim\" data-scrim=\"gradient\" data-scrim-tone=\"dark\" data-scrim-dir=\"left\" \
             style=\"--scrim-strength: 0.55\" class=\"rf-boat__scrim\"></div>",
            "  </div>",
            "  <meta data-field=\"tint-accent\" content=\"red\" />",
            "</div>",
        ],
    );
}

#[test]
fn a_cover_colours_its_text_and_quietens_its_media() {
    let engine = "[engine.Boat]\nsections = { view = 'media' }\n[engine.Boat.modifiers]\nmedia-position = { no-bem-class = true }";
    let view = part("view").holding([Tag::new("rf-sandbox").with("data-height", "auto").into()]);
    let tree = |position: &str| {
        let bag = format!("{{\"media-position\":\"{position}\"}}");
        fields(rune("boat"), &bag).holding([
            view.clone().into(),
            part("content").into(),
            meta("scrim-tone", "light"),
        ])
    };
    let cover = transformed(engine, tree("cover"));
    assert!(
        cover.contains("data-guest-posture=\"presentational\"") && cover.contains("data-height=\"fill\""),
        "{cover}"
    );
    assert!(cover.contains("class=\"rf-boat__content\" data-color-scheme=\"light\""), "{cover}");
    let beside = transformed(engine, tree("start"));
    assert!(
        !beside.contains("posture") && !beside.contains("fill") && !beside.contains("scheme"),
        "{beside}"
    );
}

#[test]
fn lists_count_and_parts_appear_in_turn() {
    let engine = "[engine.Boat]\nsequence = 'connected'\nsequence-direction = { from-modifier = 'way', default = 'down' }\n\
                  stagger-items = 'stop'\n[engine.Boat.modifiers]\nway = { no-bem-class = true }";
    let stop = || Node::from(part("stop").with("style", "top: 0").holding([part("stop").into()]));
    let list = Tag::new("ol").holding([Tag::new("li").holding([Tag::new("ol").into()]).into()]);
    let boat = rune("boat").with("stagger", true).holding([
        Tag::new("div").holding([list.into()]).into(),
        stop(),
        stop(),
    ]);
    let html = transformed(engine, boat);
    assert_eq!(
        html.matches("data-sequence=\"connected\" data-sequence-direction=\"down\"").count(),
        1,
        "{html}"
    );
    assert!(
        html.contains("top: 0; --rf-reveal-index: 0") && html.contains("top: 0; --rf-reveal-index: 1"),
        "{html}"
    );
    assert!(!html.contains("index: 2"), "{html}");
}

#[test]
fn words_that_may_be_translated_and_items_to_tick() {
    let word =
        Tag::new("span").with("data-i18n", "core.total").holding([Tag::new("b").into(), "Total".into()]);
    let item = Tag::new("li").holding([Tag::new("p").holding(["[x] rope".into()]).into()]);
    check(
        "",
        Tag::new("div").holding([word.into(), item.into()]),
        &[
            "<div>",
            "  <span>Total</span>",
            "  <li data-checked=\"checked\">",
            "    <p>rope</p>",
            "  </li>",
            "</div>",
        ],
    );
}
