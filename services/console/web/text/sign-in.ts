import { count } from './format'

/** Texts of the page for signing in. */
export const signIn = {
  title: 'Sign in',
  user: 'User',
  token: 'API token',
  way: 'Sign-in method',
  name: 'Name',
  password: 'Password',
  tokenField: 'API token',
  submit: 'Sign in',
  busy: 'Signing in…',
  tokenHint: 'The token is exchanged for a session and does not stay in this browser.',
  waits: (seconds: number) => `Try again in ${count(seconds, 'second', 'seconds')}.`,
  enterBoth: 'Enter a name and a password.',
  enterToken: 'Enter a token.',
  unreachable: 'The server cannot be reached.',
  foreignOrigin: 'The server does not accept sign-ins from this address.',
  browserSignIn: 'This account signs in with the browser sign-in of your organisation, not here.',
  httpsTitle: 'Sign-in needs HTTPS',
  httpsText: 'This page was loaded over plain HTTP from another machine, so passwords could be read on the way.',
  httpsHow: 'Configure TLS for the server, or set http.public_url to the https address of the proxy in front of it:',
  urlTitle: 'The address of the server is not configured',
  urlText: 'Browsers send the address of the page with each request, and the server accepts configured addresses only.',
  urlHow: 'Set http.public_url to the address that browsers use, and reload the server:',
}
