// The out-of-line half of {fmt}, compiled in: Debian ships it as a shared library only, and loading that (and with it
// the shared C++ run time) would double the start time of the commands.
#include <fmt/format-inl.h>

// The macros name the version's own namespace: {fmt} 9 is Debian 12's, 10 is Debian 13's.
FMT_BEGIN_NAMESPACE
namespace detail {

template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template locale_ref::locale_ref(const std::locale&);
template std::locale locale_ref::get<std::locale>() const;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>, locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
