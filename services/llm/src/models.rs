//! Lists the models of a provider.

use serde::Deserialize;
use ziggurat_telemetry::traces::Trace;

use crate::{Deadline, Error, Http, Provider, Request, Usage};

/// Parts of the names of models that do not answer prompts.
const NON_CHAT_MODELS: [&str; 5] = ["embedding", "whisper", "tts", "audio", "dall-e"];

/// A model that answers prompts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Model {
    /// Name in requests.
    pub name: String,
    /// Title of the provider for it.
    pub title: Option<String>,
}

/// A list in the format of `OpenAI` and Anthropic.
#[derive(Deserialize)]
struct List {
    data: Vec<ListedModel>,
    has_more: Option<bool>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    display_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiList {
    #[serde(default)]
    models: Vec<GeminiItem>,
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiItem {
    name: String,
    display_name: Option<String>,
    #[serde(default)]
    supported_generation_methods: Vec<String>,
}

#[derive(Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
}

// === impl Http ===

impl Http {
    /// Lists the models that answer prompts, in the order of the provider, for a call with a trace.
    ///
    /// # Errors
    /// Fails if there is no success in time, or no such model.
    pub async fn models(&self, trace: &Trace, deadline: Deadline) -> Result<Vec<Model>, Error> {
        let mut call = self.begin_unmeasured(trace);
        let models = call.http().list(deadline).await;
        call.end(models.as_ref().map(|_| Usage::default()));
        models
    }

    async fn list(&self, deadline: Deadline) -> Result<Vec<Model>, Error> {
        match self.provider() {
            Provider::Anthropic => {
                let request = Request::get(&["models"]);
                let mut list: List = self.json(&request, deadline).await?;
                if list.has_more == Some(true) {
                    let all = request.with_query(Some("limit=1000"));
                    list = self.json(&all, deadline).await?;
                }
                Ok(list.anthropic())
            }
            Provider::OpenAi => {
                let list: List = self.json(&Request::get(&["models"]), deadline).await?;
                Ok(list.openai())
            }
            Provider::Gemini => {
                let request = Request::get(&["v1beta", "models"]);
                let mut list: GeminiList = self.json(&request, deadline).await?;
                if list.has_more() {
                    let all = request.with_query(Some("pageSize=1000"));
                    list = self.json(&all, deadline).await?;
                }
                let models = list.models.into_iter();
                Ok(models.filter_map(GeminiItem::model).collect())
            }
            Provider::Ollama => {
                let tags: Tags = self.json(&Request::get(&["api", "tags"]), deadline).await?;
                let names = tags.models.into_iter().map(|tag| tag.name);
                Ok(names.map(Model::named).collect())
            }
            provider @ (Provider::Voyage | Provider::Cohere | Provider::Jina | Provider::Tei) => {
                let title = provider.title();
                let text = format!("{title} does not provide a completion API");
                Err(Error::Unsupported(text))
            }
        }
    }
}

// === impl Model ===

impl Model {
    fn named(name: String) -> Self {
        Self { name, title: None }
    }
}

// === impl List ===

impl List {
    fn anthropic(self) -> Vec<Model> {
        let items = self.data.into_iter();
        items
            .filter(|item| item.kind.as_deref() == Some("model"))
            .map(|item| Model {
                name: item.id,
                title: item.display_name,
            })
            .collect()
    }

    fn openai(self) -> Vec<Model> {
        let is_other = |id: &str| NON_CHAT_MODELS.iter().any(|other| id.contains(other));
        let mut ids: Vec<_> = self.data.into_iter().map(|item| item.id).collect();
        ids.retain(|id| !is_other(id));
        let is_theirs =
            |id: &str| id.contains("gpt") || id.starts_with("o1-") || id.starts_with("o3-");
        if ids.iter().any(|id| is_theirs(id)) {
            ids.retain(|id| is_theirs(id));
        }
        // Compatible servers have none of OpenAI's models, and the names of theirs tell nothing.
        ids.into_iter().map(Model::named).collect()
    }
}

// === impl GeminiList ===

impl GeminiList {
    fn has_more(&self) -> bool {
        let token = self.next_page_token.as_deref();
        token.is_some_and(|token| !token.is_empty())
    }
}

// === impl GeminiItem ===

impl GeminiItem {
    fn model(self) -> Option<Model> {
        let mut methods = self.supported_generation_methods.iter();
        methods.any(|method| method == "generateContent").then(|| {
            let name = self.name.strip_prefix("models/").unwrap_or(&self.name);
            Model {
                name: name.to_owned(),
                title: self.display_name,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use ziggurat_fake_providers::{Api, Fake, Turn};

    use super::*;
    use crate::{Access, client};

    fn http(played: &Fake, api: Api, provider: Provider) -> Http {
        let access = Access {
            base_url: Some(played.url(api)),
            key: Some("sk-wq8JkLmN2pRs7TuV".to_owned().into()),
            ..Access::default()
        };
        Http::new(&client().expect("a client"), provider, &access).expect("usable")
    }

    async fn names(http: &Http) -> Vec<String> {
        let models = http
            .models(&Trace::off(), Deadline::none())
            .await
            .expect("models");
        models.into_iter().map(|model| model.name).collect()
    }

    #[tokio::test]
    async fn every_provider_lists_the_models_that_answer() {
        let fake = Fake::start();
        for (api, provider, expected) in [
            (
                Api::Anthropic,
                Provider::Anthropic,
                &["claude-sonnet-4-5", "claude-haiku-4-5"][..],
            ),
            (
                Api::OpenAi,
                Provider::OpenAi,
                &["gpt-4o-mini", "gpt-5", "o3-mini"],
            ),
            (Api::Gemini, Provider::Gemini, &["gemini-2.5-flash"]),
            (
                Api::Ollama,
                Provider::Ollama,
                &["llama3.2:latest", "nomic-embed-text:latest"],
            ),
        ] {
            let http = http(&fake, api, provider);
            assert_eq!(names(&http).await, expected, "{provider:?}");
        }
        assert_eq!(fake.requests().len(), 4);
    }

    #[tokio::test]
    async fn a_server_compatible_with_openai_lists_all_its_models() {
        let fake = Fake::start();
        let body = json!({"data": [{"id": "llama-3"}, {"id": "nomic-embedding"}]});
        fake.next(Turn::raw(200, body.to_string()));
        let http = http(&fake, Api::OpenAi, Provider::OpenAi);
        assert_eq!(names(&http).await, ["llama-3"]);
    }

    #[tokio::test]
    async fn all_pages_of_a_list_are_requested() {
        let fake = Fake::start();
        let first = json!({"data": [{"type": "model", "id": "one"}], "has_more": true});
        fake.next(Turn::raw(200, first.to_string()));
        let anthropic = http(&fake, Api::Anthropic, Provider::Anthropic);
        assert_eq!(names(&anthropic).await.len(), 2);
        fake.next(Turn::raw(200, r#"{"models":[],"nextPageToken":"two"}"#));
        let gemini = http(&fake, Api::Gemini, Provider::Gemini);
        assert_eq!(names(&gemini).await.len(), 1);
        let asked: Vec<_> = fake.requests().into_iter().map(|seen| seen.query).collect();
        let expected = [
            None,
            Some("limit=1000".to_owned()),
            None,
            Some("pageSize=1000".to_owned()),
        ];
        assert_eq!(asked, expected);
    }
}
