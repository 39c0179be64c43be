//! What an address or a tool asks of the project, and the answer. Both go through here, so that both say the same.

use std::sync::Arc;

use quad_core::canonical::sha256_hex;
use quad_core::{Address, Basis, Content, Error, Result, Tag, Version};
use quad_runes::reference::Detail;
use quad_runes::{contracts, reference};
use serde_json::{Value, json};

use super::routes::Noun;
use super::tags::Root;
use super::{pages, refusal, runes};
use crate::live::{Detected, Live, Plan};
use crate::plan::context::context;
use crate::plan::status::status;
use crate::plan::{Entity, EntityType, IndexFilter, PlanIndex};
use crate::project::Site;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Detect,
    Reference {
        site: Option<String>,
        rune: Option<String>,
        markdown: bool,
    },
    Contracts {
        site: Option<String>,
    },
    Runes {
        site: Option<String>,
    },
    /// A rune's example with these attributes, as a query gives them.
    Rune {
        site: Option<String>,
        name: String,
        attributes: Vec<(String, String)>,
    },
    Index(IndexFilter),
    Status {
        milestone: Option<String>,
    },
    Context {
        id: String,
    },
    Entity {
        kind: EntityType,
        id: String,
    },
    Pages {
        site: Option<String>,
    },
    Page {
        url: String,
        site: Option<String>,
    },
}

/// A document, and what it rests on.
#[derive(Debug)]
pub(crate) struct Answer {
    pub text: Arc<str>,
    pub mime_type: &'static str,
    pub tags: Vec<Tag>,
}

impl Answer {
    pub(crate) fn content(&self) -> Content {
        Content::text(self.mime_type, &*self.text)
    }

    pub(crate) fn value(&self) -> Result<Value> {
        serde_json::from_str(&self.text).map_err(Error::internal)
    }

    pub(crate) fn basis(&self, version: Version) -> Basis {
        self.tags.iter().cloned().fold(Basis::at(version), Basis::on)
    }
}

impl Question {
    /// The question that an address puts.
    pub(crate) fn of(noun: Noun, address: &Address) -> Result<Question> {
        let text = |name: &str| address.variable(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let kind = || text("type").as_deref().and_then(EntityType::of_tag);
        let id = || text("id").unwrap_or_default();
        Ok(match noun {
            Noun::Detect => Question::Detect,
            Noun::Reference => Question::Reference {
                site: text("site"),
                rune: text("rune"),
                markdown: address.variable("format") == Some("markdown"),
            },
            Noun::Contracts => Question::Contracts { site: text("site") },
            Noun::Runes => Question::Runes { site: text("site") },
            Noun::Rune => Question::Rune {
                site: text("site"),
                name: text("name").unwrap_or_default(),
                attributes: address
                    .extra()
                    .iter()
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect(),
            },
            Noun::PlanIndex => Question::Index(IndexFilter {
                kind: kind(),
                status: text("status"),
                milestone: text("milestone"),
                tag: text("tag"),
                assignee: text("assignee"),
            }),
            Noun::PlanStatus => Question::Status { milestone: text("milestone") },
            Noun::PlanContext => Question::Context { id: id() },
            Noun::Pages => Question::Pages { site: text("site") },
            Noun::Page => Question::Page { url: text("url").unwrap_or_default(), site: text("site") },
            Noun::PlanEntity => {
                let kind = kind().ok_or_else(|| Error::internal("an address of an entity without a type"))?;
                Question::Entity { kind, id: id() }
            }
        })
    }

    /// Looks at the folder and answers. Nobody's folder is an empty one. Blocks.
    pub(crate) fn answer(&self, live: Option<&Live>) -> Result<Answer> {
        let Some(live) = live else { return self.answer_without_folder() };
        let root = Root::of(live.root());
        match self {
            Question::Detect => {
                let text = live.detected_json().to_string().into();
                Ok(Answer { text, mime_type: "application/json", tags: vec![root.detected()] })
            }
            Question::Reference { site, .. } | Question::Contracts { site } | Question::Runes { site } => {
                let detected = live.detected();
                let site = chosen(&detected, site.as_deref())?;
                let name = format!("{self:?} {}", site.name);
                let (text, mime_type) = (detected.memo.get(&name, || self.of_site(site))?, self.mime_type());
                Ok(Answer { text, mime_type, tags: vec![root.sites()] })
            }
            Question::Rune { site, name, attributes } => {
                let detected = live.detected();
                let site = chosen(&detected, site.as_deref())?;
                let shown = runes::inspect(Some(site), &site.catalogue, name, attributes)?;
                let text = shown.to_string().into();
                Ok(Answer { text, mime_type: self.mime_type(), tags: vec![root.sites()] })
            }
            Question::Pages { site } => pages::index(live, site.as_deref()),
            Question::Page { url, site } => pages::one(live, url, site.as_deref()),
            _ => {
                let plan = plan(live)?;
                let (text, tags) = self.of_plan(&plan, &root)?;
                Ok(Answer { text, mime_type: self.mime_type(), tags })
            }
        }
    }

    fn mime_type(&self) -> &'static str {
        match self {
            Question::Entity { .. } | Question::Reference { markdown: true, .. } => "text/markdown",
            _ => "application/json",
        }
    }

    /// What somebody hears who has no folder.
    fn answer_without_folder(&self) -> Result<Answer> {
        match self {
            Question::Detect => {
                let nothing = json!({
                    "cwd": null, "plan": null, "site": null, "plugins": [], "configSource": "autodetect",
                });
                Ok(Answer {
                    text: nothing.to_string().into(),
                    mime_type: "application/json",
                    tags: Vec::new(),
                })
            }
            Question::Reference { .. }
            | Question::Contracts { .. }
            | Question::Runes { .. }
            | Question::Rune { .. }
            | Question::Pages { .. }
            | Question::Page { .. } => Err(refusal::site(&crate::project::SiteError::Missing, None)),
            _ => Err(refusal::no_plan(None)),
        }
    }

    fn of_site(&self, site: &Site) -> Result<String> {
        let catalogue = &site.catalogue;
        let rune_of =
            |name: &str| site.rune(name).map_err(|(unknown, hint)| refusal::no_rune(&unknown.name, &hint));
        Ok(match self {
            Question::Reference { rune: Some(name), markdown: true, .. } => {
                reference::rune_as_markdown(catalogue, rune_of(name)?)
            }
            Question::Reference { rune: Some(name), .. } => {
                reference::rune_reference(catalogue, rune_of(name)?, Detail::Full).to_string()
            }
            Question::Reference { markdown: true, .. } => reference::site_reference_as_markdown(catalogue),
            Question::Reference { .. } => reference::site_reference(catalogue, Some(&site.name)).to_string(),
            Question::Contracts { .. } => contracts::contracts(catalogue).to_string(),
            _ => json!({ "site": site.name, "packages": reference::list(catalogue) }).to_string(),
        })
    }

    fn of_plan(&self, plan: &Plan, root: &Root) -> Result<(Arc<str>, Vec<Tag>)> {
        let index = &plan.index;
        let name = format!("{self:?}");
        let whole = |make: &dyn Fn() -> Value| {
            let text = plan.memo.get(&name, || Ok::<_, Error>(make().to_string()))?;
            Ok((text, vec![root.plan()]))
        };
        match self {
            Question::Index(filter) => {
                check_filter(index, filter)?;
                whole(&|| index.to_json(filter))
            }
            Question::Status { milestone } => {
                check_milestone(index, milestone.as_deref())?;
                whole(&|| status(index, milestone.as_deref()))
            }
            Question::Context { id } => {
                let entity = entity_of(index, id)?;
                let read = |file: &str| plan.folder.plan_text(file).ok().flatten();
                Ok((context(index, entity, read).to_string().into(), vec![root.plan()]))
            }
            Question::Entity { kind, id } => {
                let entity = index.find(*kind, id).map_err(|missing| refusal::no_entity(&missing))?;
                let text = plan.folder.plan_text(&entity.file).map_err(refusal::disk)?;
                let missing = || refusal::no_such_id(id, &[]);
                Ok((text.ok_or_else(missing)?.into(), vec![root.entity(entity), root.many()]))
            }
            _ => Err(Error::internal("a question that is none about the plan")),
        }
    }
}

/// The plan, or why there is none.
pub(crate) fn plan(live: &Live) -> Result<Arc<Plan>> {
    if let Some(plan) = live.plan().map_err(refusal::disk)? {
        return Ok(plan);
    }
    let detected = live.detected();
    Err(refusal::no_plan(detected.project.plan.as_ref().map(|plan| plan.dir.as_str())))
}

/// The site that is meant, or why none is.
pub(crate) fn chosen<'d>(detected: &'d Detected, site: Option<&str>) -> Result<&'d Site> {
    detected.project.site(site).map_err(|error| refusal::site(&error, detected.config_error()))
}

/// The entity of an id, whatever its type: by the tag's id, or else by the exact name of its file.
pub(crate) fn entity_of<'p>(index: &'p PlanIndex, id: &str) -> Result<&'p Entity> {
    if let Some(entity) = index.entity(id) {
        return Ok(entity);
    }
    let by_file = EntityType::ALL.into_iter().find_map(|kind| index.find(kind, id).ok());
    by_file.ok_or_else(|| {
        let near = quad_address::nearest_few(id, index.entities().filter_map(Entity::id));
        refusal::no_such_id(id, &near)
    })
}

/// Words of closed vocabularies must be in them, or nothing would ever be found.
fn check_filter(index: &PlanIndex, filter: &IndexFilter) -> Result<()> {
    if let Some(status) = &filter.status {
        let kinds =
            EntityType::ALL.into_iter().filter(|kind| filter.kind.is_none_or(|wanted| wanted == *kind));
        let known: Vec<&str> = kinds.flat_map(|kind| kind.values("status")).map(String::as_str).collect();
        let written = index.entities().any(|entity| entity.status() == status);
        if !known.contains(&status.as_str()) && !written {
            let mut all = known.clone();
            all.sort_unstable();
            all.dedup();
            let near = quad_core::nearest(status, known);
            let near = near.map(|near| format!("The nearest is {near}; ")).unwrap_or_default();
            let message = format!("There is no status {}", refusal::shown(status));
            let hint = refusal::sentence(&format!("{near}there are {}", all.join(", ")));
            return Err(Error::bad_input(message).hint(hint));
        }
    }
    Ok(())
}

fn check_milestone(index: &PlanIndex, name: Option<&str>) -> Result<()> {
    let Some(name) = name else { return Ok(()) };
    index.find(EntityType::Milestone, name).map(|_| ()).map_err(|missing| refusal::no_entity(&missing))
}

/// The hash by which a caller says which state of a text it saw.
pub(crate) fn hash(text: &str) -> String {
    sha256_hex(text.as_bytes())
}
