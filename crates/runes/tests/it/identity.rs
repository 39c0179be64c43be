//! The identity transform on hand-made trees, with configurations that no official rune has.

use std::sync::Arc;

use quad_runes::catalogue::{Catalogue, Package, RunePreferences};
use quad_runes::render_tree::{Element, RenderNode};
use quad_runes::{html, identity};

/// The HTML of a transformed tree. `engine` is the TOML configuration of its types.
fn transform_to_html(engine: &str, tree: Element) -> String {
    let package = Package::parse("f.toml", engine, "local").unwrap();
    let catalogue = Catalogue::merge(&[Arc::new(package)], &RunePreferences::default()).0;
    html::to_html(&identity::transform(&catalogue, tree.into()))
}

fn assert_html(engine: &str, tree: Element, expect: &[&str]) {
    assert_eq!(transform_to_html(engine, tree), expect.join("\n"));
}

/// The root element of a rune, as `expand` builds it.
fn rune(name: &str) -> Element {
    Element::new("div").with_attr("data-rune", name).with_attr("class", serde_json::Value::Null)
}

fn fields(mut tag: Element, json: &str) -> Element {
    tag.fields = serde_json::from_str(json).unwrap();
    tag
}

fn part(name: &str) -> Element {
    Element::new("p").with_attr("data-name", name)
}

fn meta(field: &str, content: &str) -> RenderNode {
    Element::new("meta").with_attr("data-field", field).with_attr("content", content).into()
}

#[test]
fn plain_element_is_unchanged() {
    assert_html(
        "",
        Element::new("p").with_attr("data-rune", "nothing-of-the-kind"),
        &["<p data-rune=\"nothing-of-the-kind\"></p>"],
    );
    assert_html(
        "[engine.Boat]",
        rune("boat"),
        &["<div class=\"rf-boat\" data-rune=\"boat\" data-density=\"full\"></div>"],
    );
}

#[test]
fn fields_without_configuration_become_an_attribute() {
    let boat = fields(rune("boat"), r#"{"sail":"gaff"}"#).with_attr("id", "b");
    let expect =
        "<div data-rune=\"boat\" data-rune-fields=\"{&quot;sail&quot;:&quot;gaff&quot;}\" id=\"b\"></div>";
    assert_html("", boat, &[expect]);
}

#[test]
fn type_names_with_acronyms_are_found() {
    let html = transform_to_html("[engine.FAQList]\nblock = 'faq'", rune("faqlist"));
    assert_eq!(html, "<div class=\"rf-faq\" data-rune=\"faqlist\" data-density=\"full\"></div>");
}

#[test]
fn modifier_precedence_fields_meta_default() {
    let engine = "[engine.Boat.modifiers]\nsailType = {}\nhull = {}\nkeel = { default = 'long' }\nflag = {}\nmast = {}";
    let boat = fields(rune("boat"), r#"{"sailType":"gaff","flag":"","mast":2,"hull":null,"keel":false}"#)
        .with_children([meta("hull", "oak"), meta("flag", "red"), meta("rope", "hemp")]);
    assert_html(
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
fn modifier_supports_attribute_source_and_value_map() {
    let engine = "[engine.Boat.modifiers]\nstate = { source = 'attribute', no-bem-class = true, \
                  value-map = { afloat = 'good' }, map-target = 'mood' }\n\
                  side = { source = 'attribute', value-map = { port = 'left' } }";
    let boat = rune("boat").with_attr("state", "afloat").with_attr("side", "port").with_attr("id", "b1");
    assert_html(
        engine,
        boat,
        &[
            "<div class=\"rf-boat rf-boat--port\" id=\"b1\" data-state=\"afloat\" data-side=\"left\" data-mood=\"good\" \
           data-rune=\"boat\" data-density=\"full\"></div>",
        ],
    );
}

#[test]
fn variant_overrides_the_config() {
    let engine = "[engine.Boat]\nstatic-modifiers = ['plain']\n[engine.Boat.modifiers]\nsize = { default = 'small' }\n\
                  [engine.Boat.variants.size.big]\nstatic-modifiers = ['huge']\nroot-attributes = { role = 'ship' }";
    let small = transform_to_html(engine, rune("boat"));
    assert!(small.contains("rf-boat--small rf-boat--plain") && !small.contains("role="), "{small}");
    let big = transform_to_html(engine, fields(rune("boat"), r#"{"size":"big"}"#));
    assert!(big.contains("rf-boat--big rf-boat--huge\"") && big.contains("role=\"ship\""), "{big}");
}

#[test]
fn context_modifier_applies_through_plain_elements() {
    let engine = "[engine.Fleet]\nchild-density = 'minimal'\n\
                  [engine.Boat]\ndefault-density = 'compact'\ncontext-modifiers = { fleet = 'in-fleet' }";
    let boat = || RenderNode::from(rune("boat"));
    let fleet = rune("fleet").with_children([Element::new("ul").with_children([boat()]).into()]);
    let html = transform_to_html(engine, Element::new("article").with_children([boat(), fleet.into()]));
    assert!(html.contains("class=\"rf-boat\" data-rune=\"boat\" data-density=\"compact\""), "{html}");
    assert!(
        html.contains("class=\"rf-boat rf-boat--in-fleet\" data-rune=\"boat\" data-density=\"minimal\""),
        "{html}"
    );
}

#[test]
fn part_classes_apply_only_below_named_parts() {
    let engine = "[engine.Boat]\nsections = { deck = 'body', view = 'media' }\nmedia-slots = { view = 'cover' }\n\
                  default-reading = 'prose'\nauto-label = { h2 = 'title', crew = 'crew' }";
    let deck = part("deck").with_attr("class", "own").with_children([part("rope").into()]);
    let hidden = Element::new("div").with_children([part("anchor").into(), Element::new("h2").into()]);
    let crew = Element::new("i").with_attr("data-field", "crew");
    let boat = rune("boat").with_attr("dropcap", true).with_children([
        deck.into(),
        part("view").into(),
        hidden.into(),
        crew.into(),
    ]);
    assert_html(
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
fn block_values_render_by_field_type() {
    let engine = "[engine.Boat.modifiers]\nstate = {}\nbuilt = {}\nhome = {}\nstars = {}\ntags = {}\ntime = {}\n\
         [engine.Boat.meta-fields]\nstate = { meta-type = 'status', sentiment-map = { afloat = 'positive' } }\n\
         built = { tag = 'time', meta-type = 'temporal' }\nwebsite = { href = 'home', label = 'Home' }\n\
         stars = { rating = { total = 'most' } }\ntags = { meta-type = 'tag', split-on = ',' }\n\
         time = { transform = 'duration', label = 'Sails for', condition = 'time' }\n\
         [engine.Boat.blocks]\nhead = { layout = 'bar', wrap = false, fields = ['state', { field = 'built', align = 'end' }, 'website', 'stars'] }\n\
         facts = { layout = 'definition-list', fields = ['tags', 'time', 'state'] }\nnone = { layout = 'bar', fields = ['time'] }\n\
         [engine.Boat.layout]\nroot = ['head', 'none', 'facts']";
    let fields_json = r#"{"state":"afloat","built":"1911","home":"/h","stars":"1","tags":"a, b,,"}"#;
    assert_html(
        engine,
        fields(rune("boat"), fields_json),
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
fn universal_attributes_apply_in_fixed_order() {
    let engine = "[engine.Boat]\nframe-target = 'self'\ndefault-elevation = 'lg'\nsections = { title = 'title' }\n\
                  [engine.Boat.modifiers]\ngap = { no-bem-class = true }\n\
                  [engine.Boat.styles]\ngap = { prop = '--gap', transform = 'gap' }";
    let boat = fields(rune("boat"), r#"{"gap":"tight"}"#)
        .with_attr("style", "top: 0")
        .with_attr("stagger", true)
        .with_attr("reveal", "fade")
        .with_attr("prominence", "quiet")
        .with_attr("inset", "tight")
        .with_attr("width", "wide")
        .with_children([
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
    assert_html(
        engine,
        boat,
        &[
            "<div class=\"rf-boat rf-boat--tinted rf-boat--wide rf-boat--inset-tight rf-boat--has-bg\" \
             style=\"top: 0; --gap: var(--rf-spacing-sm); --tint-primary: navy; --frame-offset: var(--rf-spacing-section); \
             --substrate-cell: 24px\" data-gap=\"tight\" data-width=\"wide\" data-inset=\"tight\" data-elevation=\"floating\" \
             data-prominence=\"quiet\" data-reveal=\"fade\" data-stagger=\"\" data-tint=\"custom\" data-color-scheme=\"dark\" \
             data-bg=\"\" data-frame-shadow=\"sm\" data-substrate=\"dots\" data-rune=\"boat\" data-density=\"full\">",
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
fn cover_sets_color_scheme_and_disables_media() {
    let engine = "[engine.Boat]\nsections = { view = 'media' }\n[engine.Boat.modifiers]\nmedia-position = { no-bem-class = true }";
    let view =
        part("view").with_children([Element::new("rf-sandbox").with_attr("data-height", "auto").into()]);
    let tree = |position: &str| {
        let fields_json = format!("{{\"media-position\":\"{position}\"}}");
        fields(rune("boat"), &fields_json).with_children([
            view.clone().into(),
            part("content").into(),
            meta("scrim-tone", "light"),
        ])
    };
    let cover = transform_to_html(engine, tree("cover"));
    assert!(
        cover.contains("data-guest-posture=\"presentational\"") && cover.contains("data-height=\"fill\""),
        "{cover}"
    );
    assert!(cover.contains("class=\"rf-boat__content\" data-color-scheme=\"light\""), "{cover}");
    let beside = transform_to_html(engine, tree("start"));
    assert!(
        !beside.contains("posture") && !beside.contains("fill") && !beside.contains("scheme"),
        "{beside}"
    );
}

#[test]
fn sequence_lists_and_stagger_indices_are_set() {
    let engine = "[engine.Boat]\nsequence = 'connected'\nsequence-direction = { from-modifier = 'way', default = 'down' }\n\
                  stagger-items = 'stop'\n[engine.Boat.modifiers]\nway = { no-bem-class = true }";
    let stop =
        || RenderNode::from(part("stop").with_attr("style", "top: 0").with_children([part("stop").into()]));
    let list = Element::new("ol")
        .with_children([Element::new("li").with_children([Element::new("ol").into()]).into()]);
    let boat = rune("boat").with_attr("stagger", true).with_children([
        Element::new("div").with_children([list.into()]).into(),
        stop(),
        stop(),
    ]);
    let html = transform_to_html(engine, boat);
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
fn i18n_marks_are_stripped_and_checkboxes_marked() {
    let word = Element::new("span")
        .with_attr("data-i18n", "core.total")
        .with_children([Element::new("b").into(), "Total".into()]);
    let item =
        Element::new("li").with_children([Element::new("p").with_children(["[x] rope".into()]).into()]);
    assert_html(
        "",
        Element::new("div").with_children([word.into(), item.into()]),
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
