//! Sentences and marks.

use super::*;

/// The words of a text: `-` negated, `?` hedged, `>` on the second side; sentences are separated by `|`.
fn marked(text: &str) -> String {
    let sentence = |sentence: &Sentence| {
        let words = sentence.words.iter().map(|word| {
            let mark = |is_set: bool, sign: &'static str| if is_set { sign } else { "" };
            let Mark { is_negated, is_hedged, is_second_side } = word.mark;
            format!(
                "{}{}{}{}",
                mark(is_negated, "-"),
                mark(is_hedged, "?"),
                mark(is_second_side, ">"),
                word.text
            )
        });
        words.collect::<Vec<_>>().join(" ")
    };
    parse(text).iter().map(sentence).collect::<Vec<_>>().join(" | ")
}

#[test]
fn negation_covers_its_clause() {
    for (text, expected) in [
        ("We use Redis.", "use redis"),
        ("We do not use Redis", "-use -redis"),
        ("We don’t use Redis, Kafka or RabbitMQ", "-use -redis -kafka -rabbitmq"),
        ("We do not use Redis, we use Valkey", "-use -redis use valkey"),
        ("We do not use Redis but Valkey", "-use -redis valkey"),
        ("Redis is not used; Valkey is", "-redis -used valkey"),
        ("We never stop using Redis", "stop using redis"),
        ("No service uses Redis", "-service -uses -redis"),
        ("Neither Redis nor Kafka is used", "-redis -kafka -used"),
        ("We use not only Redis but also Kafka", "use redis kafka"),
        ("No, we use Redis", "use redis"),
        ("Redis was removed", "-redis -removed"),
    ] {
        assert_eq!(marked(text), expected, "{text}");
    }
}

#[test]
fn contrast_covers_its_nouns() {
    for (text, expected) in [
        ("We use Valkey, not Redis", "use valkey -redis"),
        ("We use Valkey, not Redis, for caching", "use valkey -redis caching"),
        ("Use Valkey instead of Redis for caching", "use valkey -redis caching"),
        ("Instead of Redis, we use Valkey", "-redis use valkey"),
        ("We moved from Redis to Valkey", "moved -redis valkey"),
        ("The shop is open from 9 to 17", "shop open 9 17"),
        ("We replaced Redis with Valkey", "replaced -redis valkey"),
        ("Redis was replaced by Valkey", "-redis replaced valkey"),
        ("We chose Valkey over Redis", "chose valkey over -redis"),
        ("Redis is used in tests, not in production", "redis used tests -production"),
        ("Use tabs, never spaces", "use tabs -spaces"),
        ("We deploy every day but Friday", "deploy every day -friday"),
        ("We decided against Redis", "decided against -redis"),
        ("Redis is faster than Valkey", "redis faster than >valkey"),
    ] {
        assert_eq!(marked(text), expected, "{text}");
    }
}

#[test]
fn questions_conditions_and_plans_are_hedged() {
    for (text, expected) in [
        ("Do we use Redis? We use Valkey.", "?use ?redis | use valkey"),
        ("If the build fails, run make clean", "-?build -?fails run make clean"),
        ("We might use Redis", "?might ?use ?redis"),
        ("We used to use Redis", "?used ?use ?redis"),
    ] {
        assert_eq!(marked(text), expected, "{text}");
    }
}

#[test]
fn sentences_end_at_marks_lines_and_bullets() {
    for (text, expected) in [
        ("Use quad.db 1.2 e.g. here. Then stop", "use quad db 1.2 e g | -stop"),
        ("Ports:\n- api 8080\n- db 5432", "ports | api 8080 | db 5432"),
        ("api 8080\ndb 5432", "api 8080 | db 5432"),
        ("We do not\nuse Redis", "-use -redis"),
        ("14,000 euros at 10:30 on 2026-03-03", "14000 euros 10:30 2026-03-03"),
        ("Alice's dog", "alice dog"),
        ("東京に住む。大阪ではない。", "東京に住む | 大阪ではない"),
        ("", ""),
        ("?! … --", ""),
    ] {
        assert_eq!(marked(text), expected, "{text}");
    }
}

#[test]
fn stems_join_forms_of_a_word() {
    for (a, b) in
        [("uses", "using"), ("limits", "limit"), ("two", "2"), ("chose", "choose"), ("kept", "keeps")]
    {
        assert_eq!(stem(a), stem(b), "{a} {b}");
    }
    assert_ne!(stem("redis"), stem("valkey"));
}

proptest::proptest! {
    #[test]
    fn any_text_is_parsed_into_spans_of_it(text in "\\PC{0,200}|[a-zA-Z0-9 .,;:'\n?!-]{0,200}") {
        for sentence in parse(&text) {
            proptest::prop_assert!(text.get(sentence.span.clone()).is_some_and(|part| !part.is_empty()));
            proptest::prop_assert!(sentence.continues.is_none_or(|number| number < parse(&text).len()));
        }
        compare(&text, &text);
    }
}
