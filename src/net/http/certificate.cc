#include "net/http/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

#include "net/http/certificates.h"

namespace muster::http {
namespace {

using Store = std::unique_ptr<X509_STORE, void (*)(X509_STORE*)>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, void (*)(X509_STORE_CTX*)>;
using Bio = std::unique_ptr<BIO, int (*)(BIO*)>;

Store store_of(const std::string& roots) {
  Store store(X509_STORE_new(), X509_STORE_free);
  const Bio text(BIO_new_mem_buf(roots.data(), static_cast<int>(roots.size())), BIO_free);
  CHECK_THAT(store && text, "OpenSSL: out of memory");
  while (X509* root = PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)) {
    X509_STORE_add_cert(store.get(), root);
    X509_free(root);
  }
  ERR_clear_error();  // OpenSSL reports the end of the text as an error.
  return store;
}

}  // namespace

Result<void> check_certificate(const std::string& certificate_file, const std::string& key_file,
                               const std::string& roots, const std::string& host) {
  const loop::SslContext server = TRY(https_server_context(certificate_file, key_file));
  const Store store = store_of(roots);
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(server.get(), &chain);
  const StoreContext context(X509_STORE_CTX_new(), X509_STORE_CTX_free);
  CHECK_THAT(context && X509_STORE_CTX_init(context.get(), store.get(),
                                            SSL_CTX_get0_certificate(server.get()), chain) == 1,
             "OpenSSL: out of memory");
  X509_STORE_CTX_set_default(context.get(), "ssl_server");
  X509_VERIFY_PARAM* const want = X509_STORE_CTX_get0_param(context.get());
  const bool named = is_numeric(host)
                         ? X509_VERIFY_PARAM_set1_ip_asc(want, host.c_str()) == 1
                         : X509_VERIFY_PARAM_set1_host(want, host.c_str(), host.size()) == 1;
  if (!named) return fail(Errc::denied, "cannot check the certificate for the name " + host);
  if (X509_verify_cert(context.get()) == 1) return {};
  return fail(Errc::denied, X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get())));
}

}  // namespace muster::http
