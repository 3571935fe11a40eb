// A login link is opened by a person's browser, which runs this, and looked at by
// link previews, which do not.
document.getElementById("login").submit();
