//! Rules that hold for every layer.

use std::{any, fmt::Debug, num::NonZeroU32};

use http::Extensions;
use tower_layer::Layer;

use crate::{
    audit::{self, AuditIdentityLayer, AuditLayer, TracingSink},
    bearer::{self, BearerLayer, Hashed},
    body_limit::{self, BodyLimitLayer},
    client_ip::{FromConnectInfoLayer, HopHeader, SetClientIpLayer, TrustedProxies},
    host::{self, HostLayer},
    idempotency::{self, IdempotencyLayer},
    json_rpc::{self, JsonRpcLayer},
    link::{self, LinkLayer},
    mcp::{self, Access, McpPolicyLayer},
    origin::{self, OriginLayer},
    rate_limit::{self, AtOnce, Concurrency, RateLimitLayer},
    sanitize::{self, SanitizeLayer},
};

/// Inner service of the checks; it has what every service has.
#[derive(Clone, Debug)]
struct Inner;

/// Returns the name of a layer and of the service that it makes, without modules and parameters.
fn names<L>(_: &L) -> (&'static str, &'static str)
where
    L: Layer<Inner> + Clone + Debug + Send + Sync,
    L::Service: Clone + Debug + Send + Sync,
{
    (name::<L>(), name::<L::Service>())
}

fn name<T>() -> &'static str {
    let path = any::type_name::<T>().split('<').next();
    path.and_then(|path| path.rsplit(':').next())
        .unwrap_or_default()
}

#[test]
fn every_layer_and_its_service_are_clone_and_debug_and_share_a_name() {
    let identity_of = |extensions: &Extensions| extensions.get::<u64>().copied();
    let access = |extensions: &Extensions| extensions.get::<Access>().cloned();
    let concurrency = Concurrency::new(AtOnce(NonZeroU32::MIN));
    let set_client_ip = SetClientIpLayer::new(TrustedProxies::default(), HopHeader::Forwarded);
    let pairs = [
        names(&AuditLayer::new(TracingSink)),
        names(&AuditIdentityLayer::<String>::new()),
        names(&BearerLayer::new(Hashed::<u64>::default())),
        names(&BodyLimitLayer::new(1)),
        names(&FromConnectInfoLayer::new()),
        names(&set_client_ip),
        names(&HostLayer::default()),
        names(&IdempotencyLayer::new(identity_of)),
        names(&JsonRpcLayer::new()),
        names(&LinkLayer::new([])),
        names(&McpPolicyLayer::new(access)),
        names(&OriginLayer::default()),
        names(&RateLimitLayer::new(concurrency)),
        names(&SanitizeLayer::new()),
    ];
    for (layer, service) in pairs {
        assert_eq!(layer.strip_suffix("Layer"), Some(service));
    }
}

#[test]
fn a_layer_without_required_arguments_has_a_default() {
    fn has_default<T: Default>() {}
    has_default::<AuditIdentityLayer<String>>();
    has_default::<FromConnectInfoLayer>();
    has_default::<HostLayer>();
    has_default::<JsonRpcLayer>();
    has_default::<OriginLayer>();
    has_default::<SanitizeLayer>();
}

#[test]
fn every_module_names_its_future_alike() {
    let names = [
        name::<audit::ResponseFuture<()>>(),
        name::<bearer::ResponseFuture<(), (), (), (), ()>>(),
        name::<body_limit::ResponseFuture<()>>(),
        name::<host::ResponseFuture<(), ()>>(),
        name::<idempotency::ResponseFuture<(), (), (), (), ()>>(),
        name::<json_rpc::ResponseFuture<(), (), (), (), ()>>(),
        name::<link::ResponseFuture<()>>(),
        name::<mcp::ResponseFuture<(), (), (), (), ()>>(),
        name::<origin::ResponseFuture<(), ()>>(),
        name::<rate_limit::ResponseFuture<(), (), ()>>(),
        name::<sanitize::ResponseFuture<()>>(),
    ];
    assert!(names.iter().all(|name| *name == "ResponseFuture"));
}
