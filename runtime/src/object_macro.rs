/// Makes the type of a custom resource: a struct with `apiVersion`, `kind`, `metadata`, the fields that are given, and all others,
/// which survive a write. Without the cost of a derive macro.
///
/// What follows the name is the scope, group, version, kind and plural. Fields that are missing have the default of their type, so
/// each must have one, and be `Clone`, `Debug`, `Serialize` and `Deserialize`. The program needs `serde` of its own for that.
/// Attributes of fields are serde's.
///
/// To make a [`Resource`](crate::Resource) of a struct of one's own, name its `metadata` and its kind:
/// `lariat::object!(Shop.metadata: namespaced "example.dev" "v1" "Shop" "shops");`
///
/// # Example
///
/// ```
/// use lariat::{ObjectMeta, Resource};
/// use serde::{Deserialize, Serialize};
///
/// lariat::object! {
///     /// A shop.
///     #[derive(PartialEq)]
///     pub struct Shop: namespaced "example.dev" "v1" "Shop" "shops" {
///         /// What is wanted.
///         pub spec: ShopSpec,
///     }
/// }
///
/// /// What a shop is to be.
/// #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
/// #[serde(rename_all = "camelCase", default)]
/// pub struct ShopSpec {
///     /// How many sell.
///     pub seller_count: u32,
/// }
///
/// let text = r#"{"apiVersion":"example.dev/v1","kind":"Shop","metadata":{"name":"a"},"spec":{"sellerCount":2},"status":{}}"#;
/// let shop: Shop = serde_json::from_str(text)?;
/// assert_eq!((shop.spec.seller_count, Shop::KIND.plural()), (2, "shops"));
/// assert_eq!(serde_json::to_string(&shop)?, text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[macro_export]
macro_rules! object {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident: $scope:ident $group:literal $version:literal $kind:literal $plural:literal {
            $($(#[$field_attribute:meta])* $field_visibility:vis $field:ident: $type:ty),* $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Default, $crate::__private::serde::Serialize, $crate::__private::serde::Deserialize)]
        #[serde(crate = "::lariat::__private::serde", rename_all = "camelCase", default)]
        $visibility struct $name {
            /// `apiVersion` and `kind`.
            #[serde(flatten)]
            pub types: $crate::api::TypeMeta<Self>,
            /// What all objects have.
            pub metadata: $crate::ObjectMeta,
            $($(#[$field_attribute])* $field_visibility $field: $type,)*
            /// All other fields.
            #[serde(flatten)]
            pub other: $crate::__private::serde_json::Map<String, $crate::__private::serde_json::Value>,
        }

        $crate::object!($name.metadata: $scope $group $version $kind $plural);
    };
    ($name:ident.$metadata:ident: $scope:ident $group:literal $version:literal $kind:literal $plural:literal) => {
        impl $crate::Object for $name {
            type Meta = $crate::ObjectMeta;

            fn meta(&self) -> &$crate::ObjectMeta {
                &self.$metadata
            }
        }

        impl $crate::Resource for $name {
            const KIND: $crate::Kind = $crate::Kind::$scope($group, $version, $kind, $plural);
        }
    };
}
