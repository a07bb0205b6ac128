//! What goes, what stays, and that a second pass changes nothing.

#![allow(
    clippy::disallowed_methods,
    reason = "a test may look at a clock; the crate itself does not"
)]

use proptest::prelude::*;
use serde_json::json;

use super::{json, text};

/// Texts, and what is left of them. Keys are put together here, so that no scanner takes this file for a leak.
fn table() -> Vec<(String, &'static str)> {
    let upper = "ABCDEFGHIJ234567";
    let long = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6";
    vec![
        // Clouds.
        (format!("id AKIA{upper} x"), "id [redacted:aws-key] x"),
        (
            format!("aws configure set aws_secret_access_key={long}abcd"),
            "aws configure set aws_secret_access_key=[redacted:api-key]",
        ),
        (
            format!("AWS_SECRET_ACCESS_KEY='{long}abcd' aws s3 ls"),
            "AWS_SECRET_ACCESS_KEY='[redacted:api-key]' aws s3 ls",
        ),
        (format!("?key=AIza{long}"), "?key=[redacted:google-key]"),
        (
            format!("AccountName=x;AccountKey={long}{long}==;EndpointSuffix=y"),
            "AccountName=x;AccountKey=[redacted:azure-key];EndpointSuffix=y",
        ),
        // Forges and chats.
        (
            format!("git clone https://ghp_{long}@github.com/a/b"),
            "git clone https://[redacted:github-token]@github.com/a/b",
        ),
        (
            format!("gho_{long} ghs_{long}"),
            "[redacted:github-token] [redacted:github-token]",
        ),
        (format!("\\nghp_{long}\\n"), "\\n[redacted:github-token]\\n"),
        (format!("github_pat_{long}_{long}"), "[redacted:github-token]"),
        ("glpat-AbCd1234efGh5678ijKl".into(), "[redacted:gitlab-token]"),
        (["xox", "b-12345678901-abcdefGHIJ"].concat(), "[redacted:slack-token]"),
        (
            format!("//registry.example/:_authToken=npm_{long}"),
            "//registry.example/:_authToken=[redacted:npm-token]",
        ),
        (format!("npm_{long}"), "[redacted:npm-token]"),
        (
            format!("twine upload -u __token__ pypi-AgEI{long}"),
            "twine upload -u __token__ [redacted:pypi-token]",
        ),
        (format!("OPENAI sk-proj-{long}"), "OPENAI [redacted:api-key]"),
        (format!("sk-ant-api03-{long}-{long}"), "[redacted:api-key]"),
        (format!("hf_{long}"), "[redacted:huggingface-token]"),
        (
            ["sk_", "live_4eC39HqLyjWDarjtT1zdp7dc"].concat(),
            "[redacted:stripe-key]",
        ),
        (format!("pcl_agent_{long}abcdefg"), "[redacted:portcullis-token]"),
        (format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{long}"), "[redacted:jwt]"),
        // Private keys: whole, cut at the end, cut at the beginning, escaped.
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb".into(),
            "a\n[redacted:private-key]\nb",
        ),
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r".into(),
            "[redacted:private-key]",
        ),
        (
            "x\\n-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\\n".into(),
            "x\\n[redacted:private-key]\\n",
        ),
        (
            format!("{long}\n{long}\n-----END EC PRIVATE KEY-----"),
            "[redacted:private-key]",
        ),
        // Addresses.
        (
            "psql postgres://u:p4ss@h/db".into(),
            "psql postgres://u:[redacted:password]@h/db",
        ),
        ("redis://:p@ss@h:1".into(), "redis://:[redacted:password]@h:1"),
        (
            "curl 'https://a.example/?access_token=abc&x=1'".into(),
            "curl 'https://a.example/?access_token=[redacted:token]&x=1'",
        ),
        // Options.
        ("x --password hunter2 y".into(), "x --password [redacted:password] y"),
        ("x --password=hunter2 y".into(), "x --password=[redacted:password] y"),
        ("x --password 'x y' z".into(), "x --password '[redacted:password]' z"),
        (
            "x --password \"x \\\" y\" z".into(),
            "x --password \"[redacted:password]\" z",
        ),
        ("x --password='x y' z".into(), "x --password='[redacted:password]' z"),
        ("x --password x\\ y z".into(), "x --password [redacted:password] z"),
        (
            "x --password 'x y'\"a b\"c z".into(),
            "x --password [redacted:password] z",
        ),
        ("x --password 'cut off".into(), "x --password '[redacted:password]"),
        (
            "bash -c 'x --password hunter2' --y".into(),
            "bash -c 'x --password [redacted:password]' --y",
        ),
        (
            "bash -c \"x --password 'a b'\" --y".into(),
            "bash -c \"x --password '[redacted:password]'\" --y",
        ),
        (
            "gh auth --token abc --api-key=def".into(),
            "gh auth --token [redacted:token] --api-key=[redacted:api-key]",
        ),
        (
            r#"["--client-secret", "a b"]"#.into(),
            r#"["--client-secret", "[redacted:secret]"]"#,
        ),
        (
            "x --password '$ecret1' y".into(),
            "x --password '[redacted:password]' y",
        ),
        ("x --password %AB% y".into(), "x --password [redacted:password] y"),
        // Short options.
        (
            "mysql -uroot -phunter2 db".into(),
            "mysql -uroot -p[redacted:password] db",
        ),
        (
            "mysqldump -h 'a b' -p'x y' db".into(),
            "mysqldump -h 'a b' -p'[redacted:password]' db",
        ),
        (
            "sshpass -p hunter2 ssh -p 22 h".into(),
            "sshpass -p [redacted:password] ssh -p 22 h",
        ),
        (
            "docker login -u a -p hunter2 r.example".into(),
            "docker login -u a -p [redacted:password] r.example",
        ),
        (
            "redis-cli -h x -a hunter2 get k".into(),
            "redis-cli -h x -a [redacted:password] get k",
        ),
        (
            "curl -u user:p4ss https://a.example".into(),
            "curl -u user:[redacted:password] https://a.example",
        ),
        (
            "curl -sSu 'user:p4 ss' https://a.example".into(),
            "curl -sSu 'user:[redacted:password]' https://a.example",
        ),
        (
            "curl --user=user:p4ss x".into(),
            "curl --user=user:[redacted:password] x",
        ),
        (
            "openssl enc -aes256 -k hunter2 -in a".into(),
            "openssl enc -aes256 -k [redacted:password] -in a",
        ),
        (
            "ssh-keygen -t ed25519 -N 'a b' -f k".into(),
            "ssh-keygen -t ed25519 -N '[redacted:password]' -f k",
        ),
        (
            "aws configure set aws_secret_access_key a/b".into(),
            "aws configure set aws_secret_access_key [redacted:api-key]",
        ),
        (
            "npm config set //r.example/:_authToken abc".into(),
            "npm config set //r.example/:_authToken [redacted:token]",
        ),
        (
            "gh secret set NAME --body abc".into(),
            "gh secret set NAME --body [redacted:password]",
        ),
        (
            "echo 'hunter2' | sudo -S ls".into(),
            "echo [redacted:password] | sudo -S ls",
        ),
        (
            "printf hunter2 | docker login -u a --password-stdin".into(),
            "printf [redacted:password] | docker login -u a --password-stdin",
        ),
        // Headers.
        (
            "curl -H 'Authorization: Bearer abc.def' x".into(),
            "curl -H 'Authorization: Bearer [redacted:authorization]' x",
        ),
        (
            "curl -H \"authorization: basic dXNlcjpw\" x".into(),
            "curl -H \"authorization: basic [redacted:authorization]\" x",
        ),
        (
            "Authorization: AWS4-HMAC-SHA256 Credential=x, Signature=ab12cd34".into(),
            "Authorization: [redacted:authorization]",
        ),
        (format!("Bearer {long}"), "Bearer [redacted:authorization]"),
        ("-H 'X-Api-Key: abc12345'".into(), "-H 'X-Api-Key: [redacted:api-key]'"),
        ("-H 'Cookie: sid=abc; x=y'".into(), "-H 'Cookie: [redacted:cookie]'"),
        (
            "-H 'PRIVATE-TOKEN: abc' x".into(),
            "-H 'PRIVATE-TOKEN: [redacted:token]' x",
        ),
        // Variables and fields.
        ("user: me\ntoken: abc\n".into(), "user: me\ntoken: [redacted:token]\n"),
        (
            "DB_PASSWORD=hunter2 ./run".into(),
            "DB_PASSWORD=[redacted:password] ./run",
        ),
        (
            "export API_KEY=\"a b\"; x".into(),
            "export API_KEY=\"[redacted:api-key]\"; x",
        ),
        ("PGPASSWORD=x psql".into(), "PGPASSWORD=[redacted:password] psql"),
        (
            "docker run -e 'DB_PASS=a b' i 'c d'".into(),
            "docker run -e 'DB_PASS=[redacted:password]' i 'c d'",
        ),
        (
            "docker run -e \"DB_PASS=ab\" i \"c d\"".into(),
            "docker run -e \"DB_PASS=[redacted:password]\" i \"c d\"",
        ),
        ("bash -c 'TOKEN=abc ls'".into(), "bash -c 'TOKEN=[redacted:token] ls'"),
        ("A=1\nSECRET=a&b;c\nB=2".into(), "A=1\nSECRET=[redacted:secret]\nB=2"),
        (
            r#"{"password":"x y","user":"me"}"#.into(),
            r#"{"password":"[redacted:password]","user":"me"}"#,
        ),
        (
            r#"curl -d "{\"password\":\"x y\",\"a\":1}" u"#.into(),
            r#"curl -d "{\"password\":\"[redacted:password]\",\"a\":1}" u"#,
        ),
        (
            r#"{"password": 1234, "a": 1}"#.into(),
            r#"{"password": [redacted:password], "a": 1}"#,
        ),
        ("password: hunter2".into(), "password: [redacted:password]"),
        (
            "client_secret = \"abc\"".into(),
            "client_secret = \"[redacted:secret]\"",
        ),
        (
            "Server=x;Uid=sa;Pwd=abc;".into(),
            "Server=x;Uid=sa;Pwd=[redacted:password];",
        ),
        (
            "<password>abc</password>".into(),
            "<password>[redacted:secret]</password>",
        ),
        (
            "token_file: password=abc".into(),
            "token_file: password=[redacted:password]",
        ),
    ]
}

#[test]
fn secrets_go_and_the_rest_stays() {
    let mut wrong = Vec::new();
    for (input, expected) in table() {
        let got = text(&input);
        if got != expected {
            wrong.push(format!("{input}\n  is  {got}\n  not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_second_pass_changes_nothing() {
    for (input, _) in table() {
        let once = text(&input);
        assert_eq!(text(&once), once, "{input}");
    }
}

/// Texts that look a little like secrets and are none.
const KEPT: &[&str] = &[
    "",
    "cargo test --workspace",
    "git show 3f786850e387550fdab836ed7e6dc881de23001b",
    "commit=3f786850e387550fdab836ed7e6dc881de23001b",
    "request 01890a5d-ac96-774b-bcce-b302099a8057",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "docker login --password-stdin --username me",
    "x --password-file secrets.txt --token-file=/run/t",
    "pass the token to the parser, then read the next token",
    "the token: a short text; Password reset; passwords matter",
    "bypass=true, tests pass: 12, fail: 0",
    "max_tokens=1000 total_tokens: 55 \"max_tokens\": 7",
    "tokenizer=bert keyboard=us monkey=1 author=me",
    "primary_key: id, sort_key=date, public_key=abc",
    "PWD=/home/dev OLDPWD=/tmp",
    "curl -u \"$USER:$PASS\" https://a.example",
    "mysql -u root -p db && ssh -p 22 h",
    "ssh -p 2222 host && mkdir -p a/b",
    "API_TOKEN=$API_TOKEN x --password \"$PASSWORD\" --token ${T}",
    "TOKEN=$(cat /run/token)",
    "openssl req -x509 -newkey rsa:2048 -keyout k.pem -out c.pem -subj /CN=a",
    "mysql --port 3306 -h a db && mongodump --port 27017 --out d",
    "curl -fsSL -o out https://a.example/x && curl -X POST -F f=@a https://b.example",
    "docker run -p 80:80 nginx && docker build -t a:b . && docker ps -a",
    "unzip a.zip -d out && zip -r a.zip b && redis-cli -h a get k && tar -xpf a.tar",
    "aws s3 cp a s3://b/key && aws configure list && git config --list && npm config get registry",
    "cat .env.example | grep -v '^#' | cut -d= -f1",
    "fn key(pass: usize) -> Token { Token::default() }",
    "error: expected one of `,`, `:`, or `}`, found `token`",
    "echo \"$TOKEN\" | docker login --password-stdin",
    "read -s -p \"Password: \" pw; echo \"enter password: \"; echo ok",
    "git config user.name me && git config --global core.pager less",
    "grep -rn 'secret=' src; rg \"api_key\\s*=\" .",
    "https://user@host/path git@github.com:a/b.git http://[::1]:80/",
    "if token == Token::Eof { return }",
    "let token = lexer.next(); fn f(password: &str)",
    "task-scheduler-configuration-2024-01 disk-usage-monitor-service-long",
    "class sk-folding-cube-animation-wrapper",
    "pip install pypi-simple-server-with-long-name",
    "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----",
    "Authorization: see the manual",
    "kubectl get secret name -o yaml; secretName: db",
    "rm -rf target && ls --color=auto",
    "the bearer of this letter may pass",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "\u{e4}\u{f6}\u{fc} \u{1f511} key",
    "reads `/etc/passwd`: outside the workspace",
    "cat: /run/secrets/token: Permission denied",
];

#[test]
fn what_is_no_secret_stays() {
    for input in KEPT {
        assert_eq!(text(input), *input);
    }
}

#[test]
fn json_values_of_secret_keys_go_whole() {
    let value = json!({
        "command": "x --password hunter2",
        "env": {"DB_PASSWORD": ["a", {"b": 1}], "apiKey": 12, "max_tokens": 5, "HOME": "/h"},
        "args": ["--token", "abc", "--verbose", "--password-file", "f", "--password", "--x"],
        "headers": {"Authorization": "Bearer abc", "Accept": "*/*"},
        "list": [[true, null]],
    });
    let redacted = json!({
        "command": "x --password [redacted:password]",
        "env": {"DB_PASSWORD": "[redacted:password]", "apiKey": "[redacted:api-key]", "max_tokens": 5, "HOME": "/h"},
        "args": ["--token", "[redacted:token]", "--verbose", "--password-file", "f", "--password", "--x"],
        "headers": {"Authorization": "[redacted:authorization]", "Accept": "*/*"},
        "list": [[true, null]],
    });
    assert_eq!(json(&value), redacted);
    assert_eq!(json(&redacted), redacted);
}

#[test]
fn depth_of_json_is_bounded() {
    let mut value = json!("x");
    for _ in 0..1000 {
        value = json!([value]);
    }
    assert!(json(&value).to_string().contains("[redacted:nested]"));
}

#[test]
fn a_mark_of_an_unknown_kind_hides_nothing() {
    let hidden = "[redacted:password=hunter2]";
    assert!(!text(hidden).contains("hunter2"));
}

/// Beginnings that are looked at in vain, tens of thousands of them in one line. A search that grew with the square of the
/// length would not end within the limit that the runner sets for a test; no clock is read here.
#[test]
fn long_texts_of_hostile_form_come_to_an_end_and_stay_as_they_are() {
    let long = 1 << 18;
    for part in [
        "token:",
        "api_key:x",
        "token=env.",
        "a_token=x ",
        "pass:'pass:\"",
        "token_id=\"",
        "token_id=\\\"",
        "password=",
        "password='",
        "--password ",
        "mysql ",
        "mysql -p",
        "curl -u ",
        "Authorization: ",
        "authorization:Bearer ",
        "-----BEGIN PRIVATE KEY-----",
        "AAAAAAAAAAAAAAAA\n",
        "eyJ",
        "a://b:",
        "[redacted:password]",
        "password=[redacted:token]",
        "docker login ",
        "config set x ",
        "echo a | ",
        "login a password ",
        "<secret>",
        "'",
        "\\",
        "sk-",
        "é",
    ] {
        let input = part.repeat(long / part.len());
        let once = text(&input);
        assert_eq!(text(&once), once, "{part}");
    }
}

fn odd_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => proptest::sample::select(vec![
            "password", "PASSWORD", "token", "--secret", "api_key", "_file", "Authorization", "Bearer", "Cookie", "mysql",
            "-p", "curl", "-u", "user", "https://", "@", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "eyJ",
            "[redacted:", "[redacted:token]", "]", "ghp_", "AKIA", "sk-", "abcdefghijklmnopqrstuvwxyz0123", "-e ", "env",
            "<secret>", "login", "pass:",
        ]).prop_map(str::to_owned),
        4 => proptest::sample::select(vec![
            "=", ":", " ", "\n", "'", "\"", "\\", "\\\"", ",", ";", "&", "$", "${", "}", "{", "(", ")", "/", "-", "_", "é",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
    ];
    proptest::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn redaction_is_idempotent(input in odd_text()) {
        let once = text(&input);
        prop_assert_ne!(once.as_str(), "[redacted:text]");
        prop_assert_eq!(text(&once), once);
    }

    #[test]
    fn redaction_of_json_is_idempotent(key in odd_text(), value in odd_text(), other in odd_text()) {
        let once = json(&json!({ key: [value, { other: 1 }] }));
        prop_assert_eq!(json(&once), once);
    }

    #[test]
    fn a_password_behind_its_option_never_stays(before in "[a-z =]{0,8}", secret in "[A-Za-z0-9!#%+]{6,20}", quote in 0..3_usize) {
        let line = format!("{before} --password {} after", ["{}", "'{}'", "\"{}\""][quote].replace("{}", &secret));
        prop_assert!(!text(&line).contains(&secret), "{}", text(&line));
    }

    #[test]
    fn plain_words_stay(words in proptest::collection::vec("[a-z]{1,10}", 0..20)) {
        let line = words.join(" ");
        prop_assert_eq!(text(&line), line);
    }
}
