#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""oidc_browser.py URL NAME - a browser that logs in as NAME: follows redirects, keeps cookies, fills
in every form it meets (login, consent, the confirmation of a device) and sends it, until a page has
no form. Prints that page. With NAME "" it aborts the login where it can."""
import html.parser
import http.cookiejar
import sys
import urllib.parse
import urllib.request

url, name = sys.argv[1:3]
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))


class Form(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.action, self.fields, self.abort = None, {}, None

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        if tag == 'form' and self.action is None:
            self.action = a.get('action', '')
        elif tag == 'input' and a.get('name') and self.action is not None:
            self.fields[a['name']] = a.get('value', '')
        elif tag == 'a' and 'abort' in a.get('href', ''):
            self.abort = a['href']


page = opener.open(url, timeout=30)
for _ in range(12):
    text = page.read().decode()
    form = Form()
    form.feed(text)
    if not name and form.abort:
        page = opener.open(urllib.parse.urljoin(page.url, form.abort), timeout=30)
        continue
    if form.action is None:
        print(text)
        sys.exit(0)
    if 'login' in form.fields:
        form.fields['login'] = name
    if 'password' in form.fields:
        form.fields['password'] = 'any'
    to = urllib.parse.urljoin(page.url, form.action or page.url)
    page = opener.open(to, urllib.parse.urlencode(form.fields).encode(), timeout=30)
sys.exit('too many pages')
