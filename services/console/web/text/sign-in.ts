import { count } from './format'

/** Texts of the page for signing in. */
export const signIn = {
  title: 'Sign in',
  user: 'User',
  token: 'API token',
  way: 'Way to sign in',
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
  foreignOrigin: 'The server does not take sign-ins from this address.',
  browserSignIn: 'This account signs in in the browser sign-in of the organisation, not here.',
  httpsTitle: 'Signing in needs HTTPS',
  httpsText: 'This page came over plain HTTP from another machine, where passwords could be read on the way.',
  httpsHow: 'Configure TLS for the server, or set http.public_url to the https address of the proxy in front of it:',
  urlTitle: 'The server does not know its address',
  urlText: 'Browsers name the address of a page with each request, and the server only takes addresses that it knows.',
  urlHow: 'Set http.public_url to the address that browsers use, and reload the server:',
}
