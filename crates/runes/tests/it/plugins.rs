//! Native runes of the plugins: one test for each rule that a template cannot express.

use quad_runes::catalogue::Catalogue;
use quad_runes::expand::PageVariables;
use quad_runes::render::render;

/// The HTML of a document on one line, without white space between elements.
fn render_on_one_line(source: &str) -> String {
    let rendered = render(&Catalogue::all_builtin(), source, &PageVariables::default()).unwrap();
    rendered.html.lines().map(str::trim).collect()
}

/// Fails unless the HTML contains all parts in this order.
#[track_caller]
fn assert_html_contains_in_order(source: &str, expect: &[&str]) {
    let html = render_on_one_line(source);
    let mut rest = html.as_str();
    for part in expect {
        let Some((_, after)) = rest.split_once(part) else { panic!("no {part}\nin {rest}\nof {html}") };
        rest = after;
    }
}

#[test]
fn cta_links_and_fences_become_actions() {
    assert_html_contains_in_order(
        "{% cta %}\n# Go\n\n- [Sail](/sail)\n\n```sh\nmake sail\n```\n{% /cta %}",
        &[
            r#"<li data-name="action"><a href="/sail"><span>Sail</span></a></li>"#,
            r#"<div data-name="command""#,
        ],
    );
}

#[test]
fn hero_cover_keeps_only_the_image() {
    let hero = |position: &str| {
        render_on_one_line(&format!(
            "{{% hero media-position=\"{position}\" %}}\nWords ![Pier](/p.jpg)\n---\n# Pier\n{{% /hero %}}"
        ))
    };
    assert!(hero("end").contains("Words"));
    assert!(hero("cover").contains(r#"<img src="/p.jpg" alt="Pier" />"#));
    assert!(!hero("cover").contains("Words"));
}

#[test]
fn feature_layout_follows_media_position() {
    let points = "![Pier](/p.jpg)\n---\n# Parts\n\n- **Rope**\n\n  Holds.\n{% /feature %}";
    assert_html_contains_in_order(
        &format!("{{% feature %}}\n{points}"),
        &[
            r#"data-layout="grid""#,
            r#"<dl data-columns="1""#,
            r#"<span data-name="title">Rope</span>"#,
            "Holds.",
        ],
    );
    assert_html_contains_in_order(
        &format!("{{% feature media-position=\"start\" %}}\n{points}"),
        &[r#"data-layout="list""#],
    );
}

#[test]
fn steps_are_made_from_headings_and_lists() {
    let step = r#"<li data-field="step" class="rf-step""#;
    assert_html_contains_in_order(
        "{% steps %}\n## One\n\nDo.\n\n## Two\n{% /steps %}",
        &[step, r#"data-field="name">One"#, "Do.", step],
    );
    assert_html_contains_in_order("{% steps %}\n1. One\n2. Two\n{% /steps %}", &[step, "One", step, "Two"]);
}

#[test]
fn bento_cell_size_follows_heading_level() {
    assert_html_contains_in_order(
        "{% bento columns=4 %}\n# A\n\n## B\n\n### C\n\n#### D\n{% /bento %}",
        &[
            r#"data-size="full" data-cols="4" data-rows="1""#,
            r#"data-size="large" data-cols="3" data-rows="2""#,
            r#"data-size="medium" data-cols="2" data-rows="1""#,
            r#"data-size="small" data-cols="1" data-rows="1""#,
        ],
    );
    assert_html_contains_in_order(
        "{% bento levels=\"5,2x3\" %}\n# A\n\n### B\n{% /bento %}",
        &[r#"data-cols="5" data-rows="1""#, r#"data-cols="2" data-rows="3""#],
    );
}

#[test]
fn bento_forwards_attributes_to_cells() {
    let html = render_on_one_line(
        "{% bento elevation=\"raised\" %}\n{% bento-cell %}\nOne\n{% /bento-cell %}\n\
         {% bento-cell elevation=\"flat\" %}\nTwo\n{% /bento-cell %}\n{% /bento %}",
    );
    let elevations: Vec<&str> =
        html.split("data-elevation=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(elevations, ["flush", "raised", "flat"]);
}

#[test]
fn pricing_heading_with_price_becomes_a_tier() {
    assert_html_contains_in_order(
        "{% pricing %}\n# Berths\n\n## Small — €20 a night\n\n- Water\n\n## Ask us\n{% /pricing %}",
        &[
            r#"<h1 id="berths" data-name="eyebrow""#,
            r#"<h2 id="ask-us" data-name="headline""#,
            r#"data-columns="1""#,
            "Small",
            r#"<meta content="20" property="price" /><meta content="EUR" property="priceCurrency" />"#,
        ],
    );
}

#[test]
fn testimonial_has_quote_author_and_avatar() {
    assert_html_contains_in_order(
        "{% testimonial rating=4 %}\n> Fine.\n\n**Runa Vik** - skipper\n\n![Runa](/r.jpg)\n{% /testimonial %}",
        &[
            r#"data-name="quote" property="reviewBody""#,
            ">Runa Vik<",
            ">skipper<",
            r#"<img src="/r.jpg" alt="Runa" data-name="avatar""#,
            r#"<meta property="ratingValue" content="4" />"#,
        ],
    );
}

#[test]
fn comparison_rows_are_aligned_by_label() {
    let products = "## Pier\n- **Water**: yes\n- **Price** - €30\n\n## Buoy\n- **Price** - €10\n- [x] **Calm**\n{% /comparison %}";
    assert_html_contains_in_order(
        &format!("{{% comparison highlighted=\"Pier\" %}}\n{products}"),
        &[
            "<th class=\"rf-comparison__col-header--highlighted\">Pier",
            ">Water<",
            "yes",
            "—",
            ">Price<",
            "€30",
            "€10",
            ">Calm<",
            "—",
            "✓",
        ],
    );
    let cards = render_on_one_line(&format!("{{% comparison layout=\"cards\" %}}\n{products}"));
    assert!(cards.contains("rf-comparison-card__name\">Buoy<") && !cards.contains("—"), "{cards}");
}

#[test]
fn playlist_tracks_are_parsed_from_list_items() {
    assert_html_contains_in_order(
        "{% playlist artist=\"The Buoys\" player=true %}\n# Songs\n\n- **Fog** (4:02)\n  - (0:10) Low and slow\n\
         - [**Tide**](/tide.mp3) *Guests* (1:00:01) — 2019\n{% /playlist %}",
        &[
            r#"{&quot;name&quot;:&quot;Tide&quot;,&quot;src&quot;:&quot;/tide.mp3&quot;,&quot;artist&quot;:&quot;Guests&quot;,&quot;duration&quot;:3601}"#,
            ">Fog<",
            ">The Buoys<",
            r#"content="PT242S""#,
            r#"<ol data-name="lyrics"><li data-time="10"><p data-name="lyric">Low and slow"#,
            r#"<li typeof="MusicRecording" data-src="/tide.mp3""#,
            ">2019<",
        ],
    );
    assert_html_contains_in_order(
        "{% track duration=\"PT1H2M3S\" %}\n## Fog\n{% /track %}",
        &[">Fog<", ">1:02:03<"],
    );
    assert_html_contains_in_order(
        "{% audio src=\"/a.mp3\" title=\"Fog\" %}\nNotes.\n\n1. **Start** (0:05)\n{% /audio %}",
        &[r#"&quot;chapters&quot;:[{&quot;name&quot;:&quot;Start&quot;,&quot;time&quot;:5}]"#, "Notes."],
    );
}

#[test]
fn howto_and_recipe_mark_each_list_item() {
    assert_html_contains_in_order(
        "{% howto estimatedTime=\"PT10M\" %}\n# Moor\n\n- Two lines\n\n1. Make fast.\n{% /howto %}",
        &[
            r#"<li data-name="tool" typeof="HowToTool" property="tool""#,
            r#"<p property="name">Two lines</p>"#,
            r#"<p property="text">Make fast.</p>"#,
            r#"<meta content="PT10M" property="totalTime" />"#,
        ],
    );
    assert_html_contains_in_order(
        "{% recipe servings=4 %}\n# Soup\n\n- 1 l stock\n\n1. Heat.\n\n> Cream.\n{% /recipe %}",
        &[r#"property="recipeIngredient""#, r#"property="recipeInstructions""#, r#"data-name="tips""#],
    );
}

#[test]
fn cast_and_timeline_read_list_items_and_tags() {
    assert_html_contains_in_order(
        "{% cast %}\n- Odd Berg - Crane driver\n\n{% cast-member name=\"Runa\" image=\"/r.jpg\" /%}\n{% /cast %}",
        &[">Odd Berg<", ">Crane driver<", r#"<img src="/r.jpg" alt="Runa" property="image" />"#],
    );
    assert_html_contains_in_order(
        "{% timeline %}\n{% timeline-entry date=\"1898\" label=\"Pier\" /%}\n\n## 1954 - Crane\n{% /timeline %}",
        &[">1898<", r#"content="1" />"#, ">1954<", ">Crane<", r#"content="2" />"#],
    );
    assert_html_contains_in_order(
        "{% organization type=\"NonProfit\" %}\n# Rescue\n{% /organization %}",
        &[r#"typeof="NonProfit""#],
    );
}
