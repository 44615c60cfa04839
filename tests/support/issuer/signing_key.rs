//! A key of an issuer: signs tokens, and has a public half.

use std::sync::atomic::{AtomicUsize, Ordering};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
    RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

#[derive(Debug)]
pub struct SigningKey {
    pub id: String,
    pub algorithm: &'static str,
    pair: Pair,
}

#[derive(Debug)]
enum Pair {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl SigningKey {
    /// A new key for `RS256`, `PS256`, `ES256`, `ES384` or `EdDSA`.
    pub fn new(algorithm: &'static str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        let made = "a key can be made";
        let pair = match algorithm {
            "RS256" | "PS256" => Pair::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).expect(made)),
            "ES256" => Pair::Ec(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect(made)),
            "ES384" => Pair::Ec(EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).expect(made)),
            "EdDSA" => Pair::Ed(Ed25519KeyPair::generate().expect(made)),
            other => panic!("no keys for {other}"),
        };
        SigningKey { id: format!("key-{}", NUMBER.fetch_add(1, Ordering::Relaxed)), algorithm, pair }
    }

    /// Its public half, as issuers publish it.
    pub fn jwk(&self) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut jwk = match &self.pair {
            Pair::Rsa(pair) => {
                let (modulus, exponent) = rsa_numbers(pair.public_key().as_ref());
                json!({"kty": "RSA", "n": text(modulus), "e": text(exponent)})
            }
            Pair::Ec(pair) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let curve = if self.algorithm == "ES256" { "P-256" } else { "P-384" };
                json!({"kty": "EC", "crv": curve, "x": text(x), "y": text(y)})
            }
            Pair::Ed(pair) => json!({"kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key().as_ref())}),
        };
        jwk["kid"] = json!(self.id);
        jwk["use"] = json!("sig");
        jwk
    }

    /// The header of its tokens.
    pub fn header(&self) -> Value {
        json!({"alg": self.algorithm, "kid": self.id, "typ": "at+jwt"})
    }

    /// A token with this header and these claims.
    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = unsigned(header, claims);
        let random = SystemRandom::new();
        let signature = match &self.pair {
            Pair::Rsa(pair) => {
                let padding = if self.algorithm == "PS256" { &RSA_PSS_SHA256 } else { &RSA_PKCS1_SHA256 };
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(padding, &random, message.as_bytes(), &mut signature).expect("it signs");
                signature
            }
            Pair::Ec(pair) => pair.sign(&random, message.as_bytes()).expect("it signs").as_ref().to_vec(),
            Pair::Ed(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// The signed part of a token.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

/// The modulus and the exponent of a public key: two integers in a sequence (RFC 8017, A.1.1).
fn rsa_numbers(der: &[u8]) -> (&[u8], &[u8]) {
    let (_, inside) = element(der);
    let (modulus, rest) = (element(inside).1, &inside[element(inside).0..]);
    (unpadded(modulus), unpadded(element(rest).1))
}

/// The size of an element, and its content.
fn element(der: &[u8]) -> (usize, &[u8]) {
    let (length, head) = match der[1] {
        short @ 0..0x80 => (usize::from(short), 2),
        long => {
            let count = usize::from(long & 0x7f);
            (der[2..2 + count].iter().fold(0, |length, byte| (length << 8) | usize::from(*byte)), 2 + count)
        }
    };
    (head + length, &der[head..head + length])
}

fn unpadded(number: &[u8]) -> &[u8] {
    number.strip_prefix(&[0]).unwrap_or(number)
}
